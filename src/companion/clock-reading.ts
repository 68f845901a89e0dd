import { instantOf, isInstant } from "../core/chat/stamp.ts";
import { type Clock, isoTime } from "../core/clock.ts";
import { isJsonObject } from "../core/json.ts";
import type { Shape } from "../core/shape.ts";

/** What the clocks said at one moment. Each part may be missing, or wrong if it was stored. */
export interface ClockReading {
  /** The wall clock: milliseconds since 1970 in UTC. */
  readonly at: number | undefined;
  readonly bootId?: string;
  readonly uptimeMs?: number;
}

/** Past every uptime of a machine; below it sums stay finite. */
const longestUptimeMs = 1e14;

export function readClock(clock: Clock): ClockReading {
  return reading(clock.now(), clock.bootId?.(), clock.uptimeMs?.());
}

/** A reading as it is stored, `at` in ISO 8601: what of it cannot be used is unknown. */
export const clockReading: Shape<ClockReading> = {
  read(value, at) {
    const stored = isJsonObject(value) ? value : {};
    if (stored !== value) at.says("must be what the clocks said");
    return reading(instantOf(stored["at"]), stored["boot_id"], stored["uptime_ms"]);
  },
  write: ({ at, bootId, uptimeMs }) => {
    return { at: at === undefined ? undefined : isoTime(at), boot_id: bootId, uptime_ms: uptimeMs };
  },
};

/** A reading of valid parts only: the rest counts as unknown. */
export function reading(at: unknown, bootId: unknown, uptimeMs: unknown): ClockReading {
  const isBoot = typeof bootId === "string" && /^[\w-]{1,64}$/.test(bootId);
  const isUp = typeof uptimeMs === "number" && uptimeMs >= 0 && uptimeMs <= longestUptimeMs;
  return {
    at: typeof at === "number" && isInstant(at) ? Math.round(at) + 0 : undefined,
    ...(isBoot && { bootId }),
    ...(isUp && { uptimeMs: uptimeMs + 0 }), // -0 is not JSON
  };
}

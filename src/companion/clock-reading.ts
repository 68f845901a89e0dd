import { instantOf, isInstant } from "../core/chat/stamp.ts";
import { type Clock, isoTime } from "../core/clock.ts";
import { isJsonObject, type JsonObject } from "../core/json.ts";
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
const longestBootId = 64;

export function readClock(clock: Clock): ClockReading {
  return reading(clock.now(), clock.bootId?.(), clock.uptimeMs?.());
}

/** A reading as it is stored: `at` in ISO 8601. What cannot be stored is left out. */
export function storedReading(given: ClockReading): JsonObject {
  const { at, bootId, uptimeMs } = reading(given.at, given.bootId, given.uptimeMs);
  return {
    at: at === undefined ? undefined : isoTime(at),
    boot_id: bootId,
    uptime_ms: uptimeMs,
  };
}

/** Reads what `storedReading` made. `undefined`: nothing of it says when. */
export function readReading(stored: unknown): ClockReading | undefined {
  if (!isJsonObject(stored)) return undefined;
  const found = reading(instantOf(stored["at"]), stored["boot_id"], stored["uptime_ms"]);
  const isKnown = found.at !== undefined || isBootKnown(found);
  return isKnown ? found : undefined;
}

/** A reading as it is stored: what of it cannot be used is unknown. */
export const clockReading: Shape<ClockReading> = {
  read(value, at) {
    if (!isJsonObject(value)) at.says("must be what the clocks said");
    return readReading(value) ?? { at: undefined };
  },
  write: storedReading,
};

/** A reading of valid parts only: the rest counts as unknown. */
export function reading(at: unknown, bootId: unknown, uptimeMs: unknown): ClockReading {
  return {
    at: typeof at === "number" && isInstant(at) ? Math.round(at) + 0 : undefined,
    ...(isBootId(bootId) && { bootId }),
    ...(isUptime(uptimeMs) && { uptimeMs: uptimeMs + 0 }), // -0 is not JSON
  };
}

function isBootKnown({ bootId, uptimeMs }: ClockReading): boolean {
  return bootId !== undefined && uptimeMs !== undefined;
}

function isBootId(value: unknown): value is string {
  return typeof value === "string" && /^[\w-]+$/.test(value) && value.length <= longestBootId;
}

function isUptime(value: unknown): value is number {
  return typeof value === "number" && value >= 0 && value <= longestUptimeMs;
}

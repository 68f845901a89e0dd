/** Where every instant and every duration comes from, so that a test can hold the clock. */
export interface Clock {
  /** The wall clock: milliseconds since 1970 in UTC. May jump in both directions. */
  now(): number;
  /** Milliseconds since some start. Never goes back while the process lives. */
  monotonic(): number;
  /** Which boot of the machine this is: the same text until it reboots. Absent: not told. */
  bootId?(): string | undefined;
  /** Milliseconds since that boot, time asleep included. Absent: not told. */
  uptimeMs?(): number | undefined;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  bootId: () => systemBootId(),
  uptimeMs: () =>
    systemBootId() === undefined ? undefined : Math.round(builtin("node:os").uptime() * 1_000),
};

/** Loaded when it is asked for: importing the clock costs nothing. */
const builtin = process.getBuiltinModule;

let knownBootId: { readonly id: string | undefined } | undefined;

/** Linux tells it; elsewhere a gap is measured by the wall clock alone. */
function systemBootId(): string | undefined {
  if (knownBootId !== undefined) return knownBootId.id;
  let id: string | undefined;
  try {
    id = builtin("node:fs").readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
  } catch {
    id = undefined; // no such system
  }
  knownBootId = { id };
  return id;
}

/** The instant as it is stored: ISO 8601 in UTC with milliseconds. */
export function isoTime(at: number): string {
  if (at !== last.at) last = { at, text: new Date(at).toISOString() };
  return last.text;
}

/** Many records are of one millisecond. */
let last = { at: Number.NaN, text: "" };

/** Finds something out once at a time, and again only `ms` after that. @returns what asks for it. */
export function keptFor<T>(ms: number, clock: Clock, find: () => Promise<T>): () => Promise<T> {
  let found: Promise<T> | undefined;
  let until = Number.POSITIVE_INFINITY;
  return () => {
    if (clock.monotonic() >= until) found = undefined;
    if (found !== undefined) return found;
    until = Number.POSITIVE_INFINITY;
    found = find().finally(() => {
      until = clock.monotonic() + ms;
    });
    return found;
  };
}

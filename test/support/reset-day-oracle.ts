// The daily reset worked out another way than in the product: from the offsets of a zone and where
// they change, never from a local date. The reset of calendar day D is the first instant at which
// the clocks of the zone show D, H:00 or later; days that the zone skipped have one too.

const dayMs = 86_400_000;
const hourMs = 3_600_000;

/** From `at` on the clocks are `offsetMs` ahead of UTC. */
export interface Offset {
  readonly at: number;
  readonly offsetMs: number;
}

/**
 * The offsets of a zone in a stretch of time, oldest first, each with the millisecond at which it
 * begins. Finds every change if no two lie within `stepMs`.
 */
export function offsetsOf(
  zone: string,
  from: number,
  to: number,
  stepMs = 5 * dayMs,
): readonly Offset[] {
  const read = offsetReader(zone);
  const offsets: Offset[] = [{ at: from, offsetMs: read(from) }];
  for (let start = from; start < to; start += stepMs) {
    const offsetMs = read(start + stepMs);
    if (offsetMs === offsets.at(-1)!.offsetMs) continue;
    let before = start;
    let after = start + stepMs;
    while (after - before > 1) {
      const middle = Math.floor((before + after) / 2);
      if (read(middle) === offsetMs) after = middle;
      else before = middle;
    }
    offsets.push({ at: after, offsetMs });
  }
  return offsets;
}

/** The instant of the reset of a calendar day, a day number, as far as the offsets reach. */
export function resetOf(day: number, hour: number, offsets: readonly Offset[]): number {
  const shown = day * dayMs + hour * hourMs;
  for (const [index, { at, offsetMs }] of offsets.entries()) {
    const instant = Math.max(at, shown - offsetMs);
    if (instant < (offsets[index + 1]?.at ?? Number.POSITIVE_INFINITY)) return instant;
  }
  throw new Error("unreachable: the last offset has no end");
}

/** The newest calendar day whose reset is not after an instant. */
export function lastResetDay(at: number, hour: number, offsets: readonly Offset[]): number {
  let day = Math.floor(at / dayMs) + 3;
  while (resetOf(day, hour, offsets) > at) day--;
  return day;
}

function offsetReader(zone: string): (at: number) => number {
  const format = new Intl.DateTimeFormat("en-US", { timeZone: zone, timeZoneName: "longOffset" });
  return (at) => {
    const match = /GMT(?:([+-])(\d\d):(\d\d)(?::(\d\d))?)?$/.exec(format.format(at));
    if (match === null) throw new Error(`no offset of ${zone} at ${at}`);
    const [, sign, hours = "0", minutes = "0", seconds = "0"] = match;
    const ms = ((Number(hours) * 60 + Number(minutes)) * 60 + Number(seconds)) * 1000;
    return sign === "-" ? -ms : ms;
  };
}

// Method: a run on one storage, then a run on the same storage by another clock, which may say
// anything. The machine may have been booted between them; what truly passed is known to the test.
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { openMemoryStorage } from "../src/core/storage/memory/memory-storage.ts";
import { openThroughline, type Throughline } from "../src/core/throughline.ts";
import { HeldBootClock, talk, up } from "./support/companion-home.ts";
import { kept } from "./support/kept-storage.ts";

const isFull = process.env["THROUGHLINE_FULL"] === "1";
const chat = "local:me";
const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

const tuple = fc.record({
  /** What truly passed between the runs. */
  awayMs: fc.oneof(
    fc.integer({ min: 0, max: 60_000 }),
    fc.integer({ min: 0, max: 2 * hourMs }),
    fc.integer({ min: 0, max: 400 * dayMs }),
  ),
  /** By how much the wall clock is set between the runs, and again before somebody comes. */
  setMs: fc.oneof(fc.constant(0), fc.integer({ min: -500 * dayMs, max: 500 * dayMs })),
  setLaterMs: fc.oneof(fc.constant(0), fc.integer({ min: -dayMs, max: dayMs })),
  /** From the boot of the machine to the boot of the companion, where that is another one. */
  upMs: fc.option(fc.integer({ min: 0, max: dayMs })),
  isBootTold: fc.boolean(),
  isClean: fc.boolean(),
  /** From the boot to the first word. */
  idleMs: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 5 * hourMs })),
});
type Tuple = typeof tuple extends fc.Arbitrary<infer T> ? T : never;

class Clock extends HeldBootClock {
  constructor(at: number, isBootTold: boolean) {
    super(new Date(at).toISOString());
    if (!isBootTold) {
      this.bootId = () => undefined as unknown as string;
      this.uptimeMs = () => undefined as unknown as number;
    }
  }
}

// Points 1 and 4 of what the companion must show; R6, R7, R8.
async function assertTold(given: Tuple): Promise<void> {
  const { awayMs, setMs, setLaterMs, upMs, isBootTold, isClean, idleMs } = given;
  const what = JSON.stringify(given);
  const storage = kept(openMemoryStorage());
  const before = new Clock(Date.UTC(2026, 2, 1), isBootTold);
  const first = await up({ storage, clock: before });
  await talk(first, before, chat, ["about the sea"]);
  await first.companion.save();
  if (isClean) await first.throughline.close();

  const clock = new Clock(before.now() + awayMs + setMs, isBootTold);
  const isOtherBoot = upMs !== null;
  if (isOtherBoot) clock.boot = "boot-b";
  clock.upSince = isOtherBoot
    ? Math.min(upMs, awayMs)
    : before.upSince + before.monotonic() + awayMs;
  const { companion, throughline } = await up({ storage, clock });
  const { gapMs, certainty, kind, clean } = companion.report;
  assert.equal(clean, isClean, what);
  assert.ok(gapMs !== undefined && gapMs >= 0 && Number.isSafeInteger(gapMs), what);
  const wallMs = awayMs + setMs;
  const isCertain = isBootTold && !isOtherBoot;
  const least = isBootTold && isOtherBoot ? clock.upSince : 0;
  assert.equal(certainty, isCertain ? "certain" : wallMs >= least ? "clock" : "uncertain", what);
  assert.equal(gapMs, isCertain ? awayMs : Math.max(0, wallMs), what);
  const isCrash = !isClean && certainty !== "uncertain" && gapMs < 30_000;
  const expected = gapMs >= hourMs ? "long_absence" : isCrash ? "crash_recovery" : "short_break";
  assert.equal(kind, expected, what);
  // Only a clock that was set to just after the last moment is believed; the uptime never lies.
  if (kind === "crash_recovery" && awayMs >= hourMs) assert.ok(!isCertain && setMs < 0, what);

  clock.pass(idleMs);
  clock.set(new Date(clock.now() + setLaterMs).toISOString());
  const [told] = await companion.notices.look([chat]);
  assert.ok(told, what);
  assert.doesNotMatch(told.text, /NaN|undefined|Infinity|-\d|null/, what);
  if (idleMs >= hourMs) assert.equal(told.kind, "long_absence", what);
  if (isCertain && awayMs + idleMs >= hourMs) assert.equal(told.kind, "long_absence", what);
  if (certainty === "uncertain") assert.match(told.text, /Time away: an unknown time\./, what);
  const feeling = companion.emotions.feeling();
  const felt = [...Object.values(feeling.levels), feeling.boredom];
  assert.ok(
    felt.every((level) => level >= 0 && level <= 1),
    what,
  );
  await throughline.close();
}

test(`for ${isFull ? 1_000 : 20} clocks before and after, the gap is never negative, its certainty and the kind are true`, async () => {
  await fc.assert(fc.asyncProperty(tuple, assertTold), { numRuns: isFull ? 1_000 : 20, seed: 7 });
});

const none = { setMs: 0, setLaterMs: 0, upMs: null, isBootTold: true, isClean: false, idleMs: 0 };
const hard: readonly (readonly [what: string, tuple: Tuple])[] = [
  ["a crash 29.999 s ago", { ...none, awayMs: 29_999 }],
  ["a crash an hour ago", { ...none, awayMs: hourMs }],
  [
    "a crash 2 days ago on a clock set back by them",
    { ...none, awayMs: 2 * dayMs, setMs: -2 * dayMs },
  ],
  ["the same over a boot", { ...none, awayMs: 2 * dayMs, setMs: -2 * dayMs, upMs: 40_000 }],
  [
    "a clock set back 600 s",
    { ...none, awayMs: 0, setMs: -600_000, isBootTold: false, isClean: true },
  ],
  [
    "a clock set back after the boot",
    { ...none, awayMs: 5_000, idleMs: 3 * hourMs, setLaterMs: -dayMs },
  ],
];
for (const [what, given] of hard) {
  test(`${what} is told as what it is`, () => assertTold(given));
}

// R2, C11: who was killed before a save lived for no time, and told nobody anything.
test("two kills at the boot after 5 hours away hide neither the absence from a chat nor the rest from the emotions", async () => {
  const storage = kept(openMemoryStorage());
  const clock = new HeldBootClock();
  const first = await up({ storage, clock });
  await talk(first, clock, chat, ["about the sea"]);
  await first.companion.save();
  // Killed, and so is each of the next two.
  clock.pass(5 * hourMs);
  await up({ storage, clock });
  clock.pass(2_000);
  await up({ storage, clock });
  clock.pass(2_000);
  const { companion } = await up({ storage, clock });
  assert.deepEqual([companion.report.kind, companion.report.gapMs], ["crash_recovery", 2_000]);
  assert.equal(companion.emotions.feeling().boredom, 0);
  const [told] = await companion.notices.look([chat]);
  assert.match(
    told?.text ?? "",
    /long_absence\. Time away: about 5 hours\. The last run did not end/,
  );
});

const acts: readonly (readonly [what: string, act: (t: Throughline) => Promise<unknown>])[] = [
  ["a reset of its session", ({ sessions }) => sessions.reset(chat)],
  ["a clear of its chat", ({ chats }) => chats.clear(chat)],
  ["an import", ({ chats }) => chats.append("local:new", [{ role: "user", content: "hello" }])],
];
for (const [isClean, [what, act]] of acts.map((each, i) => [i === 0, each] as const)) {
  test(`${what} 2 hours after a run that ${isClean ? "ended" : "was killed"}, 10 s ago, is no sign of its life`, async () => {
    const storage = kept(openMemoryStorage());
    const clock = new Clock(Date.UTC(2026, 2, 1), false);
    const first = await up({ storage, clock });
    await talk(first, clock, chat, ["about the sea"]);
    await first.companion.save();
    if (isClean) await first.throughline.close();
    clock.pass(2 * hourMs);
    const other = await openThroughline({ storage, clock });
    await act(other);
    await other.close();
    clock.pass(10_000);
    const { companion, throughline } = await up({ storage, clock });
    const { kind, gapMs } = companion.report;
    assert.deepEqual([kind, gapMs], ["long_absence", 2 * hourMs + 10_000]);
    await throughline.close();
  });
}

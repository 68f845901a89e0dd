import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { HeldClock } from "../../test/support/held-clock.ts";
import { isoTime } from "../core/clock.ts";
import { applyEvent, startState } from "./emotion/acts.ts";
import { builtInEmotions as config } from "./emotion/built-in-emotions.ts";
import { evolve } from "./emotion/emotion.ts";
import { LiveEmotions } from "./live-emotions.ts";

const hourMs = 3_600_000;
const nightMs = 8 * hourMs;

/** The clock of a machine that can sleep: its uptime goes on meanwhile. */
class SleepyClock extends HeldClock {
  /** How often the uptime was asked for. */
  asked = 0;
  isUptimeTold = true;
  /** What the uptime is a multiple of, in milliseconds. */
  uptimeStepMs = 1;
  #sleptMs = 0;

  bootId = () => "boot-a";

  uptimeMs(): number | undefined {
    this.asked++;
    if (!this.isUptimeTold) return undefined;
    const uptimeMs = 1_000_000 + this.monotonic() + this.#sleptMs;
    return Math.floor(uptimeMs / this.uptimeStepMs) * this.uptimeStepMs;
  }

  sleep(ms: number): void {
    this.#sleptMs += ms;
    this.setBy(ms);
  }

  /** Somebody sets the wall clock. */
  setBy(ms: number): void {
    this.set(new Date(this.now() + ms).toISOString());
  }
}

function awake(clock = new SleepyClock()) {
  const born = startState(config, clock.now());
  const hurt = applyEvent(config, born, { event: "abuse", id: "w" }).state;
  const felt: object[] = [];
  const onSet = () => void felt.push({ at: isoTime(clock.now()), state: emotions.state });
  const emotions = new LiveEmotions(clock, { config, emotions: hurt }, () => [], onSet);
  const { asked } = clock;
  return { clock, emotions, hurt, felt, askedSince: () => clock.asked - asked };
}

test("a machine that slept for 8 hours is felt as 8 hours", () => {
  const { clock, emotions, hurt } = awake();
  clock.pass(1_000);
  assert.deepEqual(emotions.state, evolve(hurt, 1_000));
  clock.sleep(nightMs);
  clock.pass(500);
  assert.deepEqual(emotions.state, evolve(hurt, nightMs + 1_500));
  assert.deepEqual(emotions.feeling().wounds, []);
});

for (const [what, ms] of [
  ["ahead by 8 hours", nightMs],
  ["back by 8 hours", -nightMs],
  ["ahead by 2 s", 2_000],
] as const) {
  test(`a wall clock that is set ${what} is felt as nothing, also after a sleep`, () => {
    const { clock, emotions, hurt } = awake();
    clock.setBy(ms);
    assert.deepEqual(emotions.state, hurt);
    clock.pass(777);
    assert.deepEqual(emotions.state, evolve(hurt, 777));
    clock.sleep(hourMs);
    assert.deepEqual(emotions.state, evolve(hurt, hourMs + 777));
    clock.setBy(ms);
    assert.deepEqual(emotions.state, evolve(hurt, hourMs + 777));
  });
}

test("where the uptime is unknown a clock that runs ahead is felt as nothing", () => {
  for (const clock of [new HeldClock(), new SleepyClock()]) {
    if (clock instanceof SleepyClock) clock.isUptimeTold = false;
    const { emotions, hurt } = awake(clock as SleepyClock);
    clock.pass(10);
    clock.set("2027-01-01T00:00:00.000Z");
    assert.deepEqual(emotions.state, evolve(hurt, 10));
  }
});

test("whatever the clocks do, no look goes back, and each takes what passed and what was slept", () => {
  const ms = fc.integer({ min: 0, max: nightMs });
  const step = fc.record({
    passedMs: fc.oneof(fc.integer({ min: 0, max: 80 }), ms).map((eighths) => eighths / 8), // exact sums
    sleptMs: fc.oneof(fc.constant(0), ms),
    setMs: fc.oneof(fc.constant(0), fc.integer({ min: -nightMs, max: nightMs })),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 20 }), (steps) => {
      const clock = new SleepyClock();
      clock.uptimeStepMs = 1_000;
      const { emotions, hurt } = awake(clock);
      let [at, passed, slept] = [hurt.at, 0, 0];
      for (const { passedMs, sleptMs, setMs } of steps) {
        clock.pass(passedMs);
        if (sleptMs > 0) clock.sleep(sleptMs);
        clock.setBy(setMs);
        passed += passedMs;
        slept += sleptMs;
        const { state } = emotions;
        assert.ok(state.at >= at && Number.isSafeInteger(state.at));
        const most = hurt.at + passed + slept + 1_000; // the uptime is given in seconds
        assert.ok(state.at <= most, `${state.at - most} ms too much`);
        at = state.at;
        assert.equal(state.anchor, hurt.anchor);
      }
      if (slept === 0) assert.equal(at, hurt.at + Math.floor(passed));
    }),
  );
});

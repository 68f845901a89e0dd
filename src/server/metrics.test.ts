import assert from "node:assert/strict";
import { test } from "node:test";
import { HeldClock } from "../../test/support/held-clock.ts";
import { openThroughline } from "../core/throughline.ts";
import type { Turn } from "../core/turns/turn.ts";
import { Metrics } from "./metrics.ts";

test("the first answer and later ones are valid text of Prometheus, without NaN", async () => {
  const clock = new HeldClock();
  await using throughline = await openThroughline({ storage: "memory", clock });
  const metrics = new Metrics({
    clock,
    version: '1.2"3\\\n4',
    throughline,
    turns: await throughline.turns(),
    watchers: { size: 3 },
    readiness: async () => undefined,
  });
  const first = samplesIn(await metrics.text());
  assert.equal(first.get("throughline_turn_seconds_count"), 0);
  assert.equal(first.get('throughline_build_info{version="1.2\\"3\\\\\\n4"}'), 1);
  assert.equal(first.get("throughline_ready"), 1);
  for (const ms of [5, 50, 51, 400_000]) {
    const { promise, resolve } = Promise.withResolvers<object>();
    const counted = metrics.turn({ done: promise, waits: [] } as unknown as Turn);
    clock.pass(ms);
    resolve({ outcome: "answered", period: { provider: "p" } });
    await counted;
  }
  const later = samplesIn(await metrics.text());
  const bucket = (le: string) => later.get(`throughline_turn_seconds_bucket{le="${le}"}`);
  assert.deepEqual(["0.01", "0.05", "0.1", "300", "+Inf"].map(bucket), [1, 2, 3, 3, 4]);
  assert.equal(later.get("throughline_turn_seconds_count"), 4);
  assert.equal(later.get("throughline_turn_seconds_sum"), 400.106);
});

/** Reads the text format, and fails where it is not valid. */
function samplesIn(text: string): ReadonlyMap<string, number> {
  const samples = new Map<string, number>();
  const families = new Set<string>();
  let family = "";
  for (const line of text.replace(/\n$/, "").split("\n")) {
    const [, named] =
      /^# TYPE ([a-z][a-z0-9_]*) (?:counter|gauge|histogram|summary)$/.exec(line) ?? [];
    if (named !== undefined) {
      assert.ok(!families.has(named), `${named} appears twice`);
      family = named;
      families.add(family);
      continue;
    }
    const sample = /^([a-z_0-9]+)((?:\{(?:[a-z]+="(?:[^"\\\n]|\\[\\"n])*",?)+\})?) (\d\S*)$/.exec(
      line,
    );
    assert.ok(sample, line);
    const [, name = "", labels = "", value] = sample;
    assert.equal(name.replace(/_(bucket|sum|count)$/, ""), family);
    assert.ok(Number.isFinite(Number(value)), line);
    samples.set(name + labels, Number(value));
  }
  return samples;
}

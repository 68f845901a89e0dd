import assert from "node:assert/strict";
import { test } from "node:test";
import { ThroughlineError } from "../core/errors.ts";
import { openMemoryStorage } from "../core/storage/memory/memory-storage.ts";
import { ActLog } from "./act-log.ts";
import type { Act } from "./acts.ts";
import { runsProjection } from "./runs.ts";

const act = (id: string, more: object = { kind: "person" }): Act =>
  ({ ...more, id, felt: 1, at: 1, reading: { at: 1 } }) as Act;
const end = (next: string) => act(`end-${next}`, { kind: "end", next });

test("what was read before a read broke off is read again", async () => {
  const logs = openMemoryStorage().logs("", runsProjection);
  const writer = await ActLog.begin(logs, [act("a")]);
  let isAway = true;
  const reader = await ActLog.open(
    new Proxy(logs, {
      get: (target, name) => {
        if (name !== "tail") return Reflect.get(target, name).bind(target);
        return async (log: string, limit: number) => {
          if (isAway && log === "acts-2") {
            throw new ThroughlineError("away", { code: "THROUGHLINE_UNAVAILABLE" });
          }
          return target.tail(log, limit);
        };
      },
    }),
    undefined,
  );
  await writer.append([act("b")]);
  await writer.continueWith([act("c")], end);
  await assert.rejects(reader!.readOn(), { code: "THROUGHLINE_UNAVAILABLE" });
  isAway = false;
  const read = await reader!.readOn();
  assert.deepEqual(
    read?.map(({ act }) => act?.id),
    ["a", "b", "end-acts-2", "c"],
  );
  assert.deepEqual(reader!.position, writer.position);
});

for (const count of [1, 2, 200, 450]) {
  test(`of 500 acts and ${count} new ones a process that wakes reads ${count}`, async () => {
    const logs = openMemoryStorage().logs("", runsProjection);
    const acts = Array.from({ length: 500 + count }, (_, i) => act(`act-${i + 1}`));
    const writer = await ActLog.begin(logs, acts.slice(0, 500));
    let records = 0;
    const counting = new Proxy(logs, {
      get: (target, name) => {
        if (name !== "tail" && name !== "page") return Reflect.get(target, name).bind(target);
        return async (...given: never[]) => {
          const found = await Reflect.apply(Reflect.get(target, name), target, given);
          records += (found.records ?? found).length;
          return found;
        };
      },
    });
    const reader = await ActLog.open(counting, undefined);
    await reader!.readOn();
    for (const each of acts.slice(500)) await writer.append([each]);
    records = 0;
    const read = await reader!.readOn();
    assert.deepEqual(
      read?.map((each) => each.act?.id),
      acts.slice(500).map(({ id }) => id),
    );
    assert.equal(records, Math.min(count, 200));
  });
}

test("a leader whose snapshot is from before the log was continued removes nothing of it", async () => {
  const logs = openMemoryStorage().logs("", runsProjection);
  const log = await ActLog.begin(logs, [act("a")]);
  const covered = log.position;
  await log.append([act("b")]);
  await log.continueWith([act("c")], end);
  await log.removeOlder(covered);
  assert.notEqual(await logs.tail("acts-1", 0), undefined);
  await log.removeOlder(log.position);
  assert.equal(await logs.tail("acts-1", 0), undefined);
});

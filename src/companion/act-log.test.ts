import assert from "node:assert/strict";
import { test } from "node:test";
import { openMemoryStorage } from "../core/storage/memory/memory-storage.ts";
import { ActLog } from "./act-log.ts";
import type { Act } from "./acts.ts";
import { runsProjection } from "./runs.ts";

const act = (id: string, more: object = { kind: "person" }): Act =>
  ({ ...more, id, felt: 1, at: 1, reading: { at: 1 } }) as Act;
const end = (next: string) => act(`end-${next}`, { kind: "end", next });

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

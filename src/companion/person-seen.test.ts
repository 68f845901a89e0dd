import assert from "node:assert/strict";
import { test } from "node:test";
import { Machine } from "../../test/support/kept-companion.ts";
import type { Companion } from "./companion.ts";

const woundsOf = ({ emotions }: Companion) => emotions.feeling().wounds.length;
const joyOf = ({ emotions }: Companion) => emotions.feeling().levels.joy;

test("a face reported twice a second is announced once in 30 s, and a wound outlives it", async () => {
  const machine = new Machine();
  const { companion } = await machine.run();
  companion.emotions.event("violence");
  let announced = 0;
  companion.onChange(({ type }) => {
    if (type === "person") announced++;
  });
  for (let reports = 0; reports < 120; reports++) {
    companion.personSeen("Ada");
    machine.clock.pass(500);
  }
  assert.equal(announced, 2, "in one minute");
  assert.equal(woundsOf(companion), 1);
  assert.equal(companion.person?.seenAt, machine.clock.now() - 500, "each sighting counts as seen");
});

test("the same face counts again exactly 30 s after it was announced", async () => {
  const machine = new Machine();
  const { companion } = await machine.run();
  companion.personSeen("Ada");
  await machine.pass(companion, 29_999, 29_999);
  const before = joyOf(companion);
  companion.personSeen("Ada");
  assert.equal(joyOf(companion), before);
  await machine.pass(companion, 1, 1);
  companion.personSeen("Ada");
  assert.ok(joyOf(companion) > before);
});

test("two faces that take turns are each announced once, and saved at once no more often", async () => {
  const machine = new Machine();
  const { companion } = await machine.run();
  await machine.tick(companion);
  const names: string[] = [];
  companion.onChange((change) => {
    if (change.type === "person") names.push(change.person.name);
  });
  const before = machine.storage.writes.length;
  for (let turns = 0; turns < 8; turns++) {
    for (const name of ["Ada", "Ori"]) {
      companion.personSeen(name);
      await machine.pass(companion, 500, 500);
    }
  }
  assert.deepEqual(names, ["Ada", "Ori"]);
  assert.equal(machine.storage.writes.length - before, 2);
});

for (const end of ["in order", "in a crash"] as const) {
  test(`a face that the run before announced is not announced again, though it ended ${end}`, async () => {
    const machine = new Machine();
    const first = await machine.run();
    await machine.tick(first.companion);
    first.companion.emotions.event("violence");
    first.companion.personSeen("Ada");
    await machine.tick(first.companion);
    if (end === "in order") await first.throughline.close();
    machine.clock.pass(10_000);
    const { companion } = await machine.run();
    const before = joyOf(companion);
    companion.personSeen("Ada");
    assert.equal(joyOf(companion), before);
    companion.personSeen("Ori");
    assert.ok(joyOf(companion) > before, "another face is");
  });
}

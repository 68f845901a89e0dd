// What is done to the companion over HTTP under an Idempotency-Key, by a client that tries again.
import assert from "node:assert/strict";
import { test } from "node:test";
import { awakeCompanion } from "./support/awake.ts";
import { jsonOf, problemOf } from "./support/server-fixture.ts";

const key = (name: string) => ({ "idempotency-key": name });
const writes = [
  ["/api/emotions/event", { event: "loud_noise" }, { event: "insult" }],
  ["/api/emotions/reset", {}, undefined],
  ["/api/mood", { mood: "sad", duration: 5 }, { mood: "sad", duration: 6 }],
  ["/api/person", { name: "Ada" }, { name: "Ori" }],
  ["/api/sleep", { state: "asleep" }, { state: "awake" }],
] as const;

for (const [path, body, other] of writes) {
  test(`POST ${path} twice with the same key is done once, and answered the same`, async () => {
    const c = await awakeCompanion();
    const first = await jsonOf(await c.post(path, body, key("k")), 200);
    c.clock.pass(59 * 60_000);
    assert.deepEqual(await jsonOf(await c.post(path, body, key("k")), 200), first);
    if (other !== undefined) {
      await problemOf(await c.post(path, other, key("k")), 409, "THROUGHLINE_CONFLICT");
    }
    const [elsewhere] = writes.filter(([each]) => each !== path);
    const [wrong, wrongBody] = elsewhere ?? assert.fail();
    await problemOf(await c.post(wrong, wrongBody, key("k")), 409, "THROUGHLINE_CONFLICT");
  });
}

test("an event is felt once under one key, again under another, and again after an hour", async () => {
  const c = await awakeCompanion();
  const wounds = async (headers: Record<string, string> = {}) => {
    await jsonOf(await c.post("/api/emotions/event", { event: "abuse" }, headers), 200);
    return c.run?.emotions.feeling().wounds.length;
  };
  assert.deepEqual([await wounds(key("a")), await wounds(key("a"))], [1, 1]);
  assert.deepEqual([await wounds(key("b")), await wounds()], [2, 3]);
  c.clock.pass(3_600_000);
  const healed = c.run?.emotions.feeling().wounds.length ?? 0;
  assert.equal(await wounds(key("a")), healed + 1);
});

test("what was refused was not done, and its key stays free", async () => {
  const c = await awakeCompanion();
  const hug = await c.post("/api/emotions/event", { event: "hug" }, key("k"));
  await problemOf(hug, 400, "THROUGHLINE_INVALID");
  await jsonOf(await c.post("/api/emotions/event", { event: "insult" }, key("k")), 200);
  const long = await c.post("/api/emotions/event", { event: "insult" }, key("k".repeat(256)));
  await problemOf(long, 400, "THROUGHLINE_INVALID");
});

test("of more than 1000 keys the oldest are forgotten", async () => {
  const c = await awakeCompanion();
  const see = async (n: number, name = "Ada") => c.post("/api/person", { name }, key(`k${n}`));
  for (let n = 0; n < 1_000; n++) await see(n);
  for (const n of [0, 0, 1, 999]) {
    await problemOf(await see(n, "Ori"), 409, "THROUGHLINE_CONFLICT");
  }
  await see(1_000);
  await problemOf(await see(1, "Ori"), 409, "THROUGHLINE_CONFLICT");
  await jsonOf(await see(0, "Ori"), 200);
});

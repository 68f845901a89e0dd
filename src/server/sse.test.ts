import assert from "node:assert/strict";
import { test } from "node:test";
import { Watchers } from "./events.ts";
import { EventStream } from "./sse.ts";

const hour = 3_600_000;

test("flushed waits until the reader has taken what was sent, and says if it left", async () => {
  const opened = new EventStream({ maxBytes: 1_000, keepAliveMs: hour });
  const reader = opened.body.getReader();
  let isFlushed = false;
  const flushed = opened.flushed().then((has) => {
    isFlushed = true;
    return has;
  });
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(isFlushed, false);
  await reader.read();
  assert.equal(await flushed, true);
  opened.send("a", {});
  const last = opened.flushed();
  await reader.cancel();
  assert.equal(await last, false);
});

test("an event is made into bytes once, however many listen, and they share the bytes", async () => {
  const watchers = new Watchers(64, { maxBytes: 1_000, keepAliveMs: hour });
  const readers = Array.from({ length: 64 }, () => {
    return watchers.listen(() => undefined).body.getReader();
  });
  for (const reader of readers) await reader.read();
  let made = 0;
  const event = { chat_id: "a", change: "ended", toJSON: () => ({ made: ++made }) } as const;
  watchers.publish("session", event);
  const chunks = await Promise.all(readers.map((reader) => reader.read()));
  assert.equal(made, 1);
  assert.equal(new Set(chunks.map(({ value }) => value?.buffer)).size, 1);
  assert.match(new TextDecoder().decode(chunks[63]?.value), /"made":1/);
  watchers.end();
});

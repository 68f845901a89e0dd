import assert from "node:assert/strict";
import { test } from "node:test";
import { isThroughlineError } from "../core/errors.ts";
import { Watchers } from "./events.ts";
import { EventStream } from "./sse.ts";

const hour = 3_600_000;

/** A stream, and one reader that takes one chunk a call. */
function stream(maxBytes: number) {
  const ends: string[] = [];
  const opened = new EventStream({
    maxBytes,
    keepAliveMs: hour,
    onEnd: (how) => ends.push(how),
  });
  const reader = opened.body.getReader();
  const read = async () => {
    const { done, value } = await reader.read();
    return done ? undefined : new TextDecoder().decode(value);
  };
  return { opened, ends, reader, read };
}

test("a reader that is too slow is dropped, with what waited for it", async () => {
  const { opened, ends, read } = stream(100);
  await read();
  for (let n = 0; n < 3; n++) opened.send("text", { text: "x".repeat(30) });
  assert.deepEqual([opened.isOver, ends], [true, ["dropped"]]);
  assert.equal(await read(), undefined);
});

test("flushed waits until the reader has taken what was sent, and says if it left", async () => {
  const { opened, reader, read } = stream(1_000);
  let isFlushed = false;
  const flushed = opened.flushed().then((has) => {
    isFlushed = true;
    return has;
  });
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(isFlushed, false);
  await read();
  assert.equal(await flushed, true);
  opened.send("a", {});
  const last = opened.flushed();
  await reader.cancel();
  assert.equal(await last, false);
});

test("watchers are bounded, a slow one lets go of its connection and makes room", async () => {
  const watchers = new Watchers(2, { maxBytes: 100, keepAliveMs: hour });
  const dropped: string[] = [];
  const slow = watchers.listen(() => dropped.push("slow"));
  const quick = watchers.listen(() => dropped.push("quick"));
  assert.throws(
    () => watchers.listen(() => undefined),
    (error) => isThroughlineError(error, "THROUGHLINE_BUSY"),
  );
  const reader = quick.body.getReader();
  for (let n = 0; n < 5; n++) {
    await reader.read();
    watchers.publish("session", { chat_id: "x".repeat(40), change: "reset" });
  }
  assert.deepEqual([dropped, watchers.size, slow.isOver], [["slow"], 1, true]);
  watchers.listen(() => undefined);
  watchers.end();
  assert.equal(watchers.size, 0);
});

test("who watches one turn does not hear of the rest", async () => {
  const watchers = new Watchers(2, { maxBytes: 1_000, keepAliveMs: hour });
  const one = watchers.open(() => undefined);
  watchers.publish("session", { chat_id: "a", change: "reset" });
  one.end();
  const text = await new Response(one.body).text();
  assert.equal(text, ": connected\n\n");
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

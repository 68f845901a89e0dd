// Clients that send more than they read: what they cost, and when they are let go of.
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { before, type TestContext, test } from "node:test";
import { setTimeout as wait } from "node:timers/promises";
import { buildPage } from "../scripts/build-page.ts";
import type { ScriptedStep } from "./support/scripted-responder.ts";
import { type FixtureOptions, listening, me, words } from "./support/server-fixture.ts";

before(() => buildPage());

async function withSockets(
  t: TestContext,
  script: readonly (readonly ScriptedStep[])[] = [],
  options: FixtureOptions = {},
) {
  const c = await listening(t, script, options);
  const { port } = c;
  const sockets: Socket[] = [];
  t.after(() => {
    for (const socket of sockets) socket.destroy();
  });
  /** A client that reads nothing until it is told to. */
  const open = async (localAddress?: string) => {
    const socket = connect({ port, host: "127.0.0.1", ...(localAddress ? { localAddress } : {}) });
    sockets.push(socket);
    socket.pause();
    socket.on("error", () => undefined); // a reset is a way to be let go of
    await once(socket, "connect");
    return socket;
  };
  const wire = (method: string, path: string, body = "") =>
    [
      `${method} ${path} HTTP/1.1`,
      `Host: 127.0.0.1:${port}`,
      "Content-Type: application/json",
      `Content-Length: ${Buffer.byteLength(body)}`,
      "",
      body,
    ].join("\r\n");
  return { ...c, open, wire };
}

type Listening = Awaited<ReturnType<typeof withSockets>>;

/** The path of the largest file of the page, and its size. */
async function largestFile(c: Listening): Promise<{ path: string; bytes: number }> {
  const html = await (await c.ask("/")).text();
  const paths = [...html.matchAll(/"(\/assets\/[^"]+)"/g)].map(([, path]) => path ?? "");
  const files = paths.map(async (path) => {
    return { path, bytes: (await (await c.ask(path)).arrayBuffer()).byteLength };
  });
  const [first] = (await Promise.all(files)).toSorted((a, b) => b.bytes - a.bytes);
  assert.ok(first !== undefined && first.bytes > 100_000, JSON.stringify(first));
  return first;
}

/** Everything that comes until the other side closes. */
async function rest(socket: Socket): Promise<string> {
  let text = "";
  socket.on("data", (chunk) => {
    text += chunk.toString("latin1");
  });
  socket.resume();
  if (!socket.closed) await once(socket, "close");
  return text;
}

test("a pipelined request is not begun until the answer before it was written", async (t) => {
  const gate = Promise.withResolvers<void>();
  const script: ScriptedStep[][] = [[{ type: "wait", until: gate.promise }, "First"], ["Second"]];
  const c = await withSockets(t, script);
  const socket = await c.open();
  const say = (content: string) => c.wire("POST", `${me}/messages`, JSON.stringify({ content }));
  const other = c.wire("POST", "/api/chats/other/messages", '{"content":"two"}');
  socket.write(say("one") + other);
  while (c.turns.running("local:me") === undefined) await wait(1);
  // A request that came later, on a connection of its own, is answered: the second one was read.
  await fetch(`http://127.0.0.1:${c.port}/healthz`);
  assert.equal(c.turns.running("other"), undefined);
  assert.deepEqual((await c.get("/api/chats")).chats.length, 1);
  gate.resolve();
  let text = "";
  socket.on("data", (chunk) => {
    text += chunk;
  });
  socket.resume();
  while (!text.includes("Second")) await once(socket, "data");
  assert.ok(text.indexOf("First") < text.indexOf("Second"));
  const { messages } = await c.get("/api/chats/other/messages");
  assert.deepEqual(words(messages), ["user: two", "assistant: Second"]);
});

test("requests that wait on one connection are bounded: one more closes it", async (t) => {
  const gate = Promise.withResolvers<void>();
  const c = await withSockets(t, [[{ type: "wait", until: gate.promise }, "First"]]);
  const health = c.wire("GET", "/healthz");
  const post = c.wire("POST", `${me}/messages`, '{"content":"one"}');
  const patient = await c.open();
  const greedy = await c.open();
  patient.write(post + health.repeat(16));
  while (c.turns.running("local:me") === undefined) await wait(1);
  const isGone = once(greedy, "close");
  greedy.write(post.replace("one", "two") + health.repeat(17));
  greedy.resume();
  await isGone;
  gate.resolve();
  let text = "";
  patient.on("data", (chunk) => {
    text += chunk;
  });
  patient.resume();
  while (text.split("uptime_seconds").length < 17) await once(patient, "data");
});

test("page files that are asked for and never read share one buffer", async (t) => {
  const c = await withSockets(t);
  const { path, bytes } = await largestFile(c);
  const before = process.memoryUsage().arrayBuffers;
  // More than the kernel takes for a reader that takes nothing.
  const each = Math.min(17, Math.ceil(10_000_000 / bytes));
  const sockets = await Promise.all(Array.from({ length: 40 }, () => c.open()));
  for (const socket of sockets) socket.write(c.wire("GET", path).repeat(each));
  for (let asked = 0; asked < 20; asked++) {
    await (await fetch(`http://127.0.0.1:${c.port}/healthz`)).text();
  }
  const grown = process.memoryUsage().arrayBuffers - before;
  assert.ok(grown < 5_000_000, `${grown} bytes for ${sockets.length} clients that do not read`);
});

test("a client that takes nothing of its answer is let go of", async (t) => {
  const limits = { connections: 1, writeTimeoutMs: 50 };
  const c = await withSockets(t, [], { limits });
  const { path, bytes } = await largestFile(c);
  const stalled = await c.open();
  stalled.write(c.wire("GET", path).repeat(17));
  const answers = async () => {
    const socket = await c.open();
    socket.write(c.wire("GET", "/healthz").replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n"));
    return rest(socket);
  };
  const asked = performance.now();
  while (!(await answers()).includes("200 OK")) {
    assert.ok(performance.now() - asked < 20_000, "it holds its place");
    await wait(10);
  }
  const text = await rest(stalled);
  assert.ok(text.length < 17 * bytes, "cut off");
});

test("who waits for an answer, or reads slowly, is not let go of", async (t) => {
  const gate = Promise.withResolvers<void>();
  const limits = { writeTimeoutMs: 1_000 };
  const script: ScriptedStep[][] = [[{ type: "wait", until: gate.promise }, "Here I am"]];
  const c = await withSockets(t, script, { limits });
  const { path, bytes } = await largestFile(c);
  const body = '{"content":"one"}';
  const waiting = c.send(`${me}/messages`, { method: "POST", body });
  const slow = await c.open();
  const count = Math.min(17, Math.ceil(10_000_000 / bytes));
  slow.write(c.wire("GET", path).repeat(count));
  let taken = 0;
  slow.on("data", (chunk) => {
    taken += chunk.length;
    slow.pause();
  });
  // Never stops for as long as the limit, and takes one and a half times the limit in all.
  const begun = performance.now();
  while (taken < count * bytes) {
    const share = (performance.now() - begun) / (1.5 * limits.writeTimeoutMs);
    if (taken < share * count * bytes) slow.resume();
    assert.equal(slow.destroyed, false, `cut off after ${taken} bytes`);
    await wait(2);
  }
  const ms = performance.now() - begun;
  assert.ok(ms > limits.writeTimeoutMs, `too fast to show anything: ${ms} ms`);
  gate.resolve();
  const answer = await (await waiting).json();
  assert.equal((answer as { assistant: { content: string } }).assistant.content, "Here I am");
});

test("one client's address gets part of the connections, and the others are served", async (t) => {
  const c = await withSockets(t, [], { limits: { connectionsPerClient: 2 } });
  const closing = c.wire("GET", "/healthz").replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n");
  const ask = async (localAddress?: string) => {
    const socket = await c.open(localAddress);
    socket.write(closing);
    return rest(socket);
  };
  const idle = [await c.open(), await c.open()];
  assert.equal(await ask(), "");
  if (process.platform === "linux") assert.match(await ask("127.0.0.2"), /200 OK/);
  const [first] = idle;
  assert.ok(first);
  first.destroy();
  while (!(await ask()).includes("200 OK")) await wait(5);
});

// Pictures and sound over the router: by WebSocket, by HTTP, and who may not.
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { type TestContext, test } from "node:test";
import { unpackTar } from "modern-tar";
import sharp from "sharp";
import { WebSocket } from "ws";
import { servedMoments } from "../../../test/support/served-moments.ts";
import {
  eventsOf,
  type FixtureOptions,
  jsonOf,
  problemOf,
  until,
} from "../../../test/support/server-fixture.ts";
import { systemClock } from "../../core/clock.ts";
import { resolvePort } from "../../server/options.ts";
import { type Address, openPort, type Port } from "../../server/port.ts";
import { consentWording } from "../record/consent.ts";
import { mediaTar } from "./media-routes.ts";
import {
  type BufferState,
  MediaSockets,
  mediaCloses,
  mediaHeaderBytes,
  mediaLimits,
} from "./media-sockets.ts";

const token = "Zk3vQ9xT1mB7wYc5RdH0sLgE8uNpA2jFoIyXqVtMaeK";
const agreed = { messages: true, frames: true, audio: true, wording: consentWording };

async function listening(
  t: TestContext,
  options: FixtureOptions = {},
  at: Partial<Address> | Port = { port: 0 },
) {
  const c = await servedMoments(t, [], { clock: systemClock, ...options });
  const { port } = await c.listen(at);
  const open = (headers: Record<string, string> = {}) => {
    return new WebSocket(`ws://127.0.0.1:${port}/api/media`, { headers });
  };
  return { ...c, port, open };
}

/** Agreed to, and with one WebSocket open. */
async function connected(t: TestContext, consent: object = agreed) {
  const c = await listening(t);
  await c.post("/api/feedback/consent", consent);
  const socket = c.open();
  await once(socket, "open");
  return { c, socket };
}

function message(kind: number, payload: Uint8Array, time = Number.NaN): Buffer {
  const header = Buffer.alloc(mediaHeaderBytes);
  header.writeUInt8(kind);
  header.writeDoubleLE(time, 1);
  return Buffer.concat([header, payload]);
}

const sound = (ms: number) => new Uint8Array(new Int16Array(16 * ms).fill(900).buffer);
const picture = (width = 64) =>
  sharp({ create: { width, height: 48, channels: 3, background: "teal" } })
    .jpeg()
    .toBuffer();

/** How it was closed, as the other side sees it. */
async function closed(socket: WebSocket): Promise<{ code: number; reason: string }> {
  const [code, reason] = (await once(socket, "close")) as [number, Buffer];
  return { code, reason: String(reason) };
}

async function holds(what: () => boolean | Promise<boolean>): Promise<void> {
  for (let waited = 0; waited < 5_000; waited += 10) {
    if (await what()) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  assert.fail(`this never held: ${what}`);
}

test("what a WebSocket sends is in the buffers, and everyone who watches hears of it", async (t) => {
  const c = await listening(t);
  await c.post("/api/feedback/consent", agreed);
  const watched = await c.ask("/api/events");
  const told = eventsOf(watched.body);
  const socket = c.open();
  await once(socket, "open");
  socket.send(message(1, sound(100), 5_000));
  socket.send(message(2, await picture(), 5_000));
  await holds(() => c.moments.recorder.stats.frames === 1);
  assert.equal(c.moments.recorder.stats.audio_samples, 1_600);
  let event = await until(told, "buffers");
  while (!event.data.capturing.audio) event = await until(told, "buffers");
  assert.equal(event.data.audio_samples, 1_600);
  const { capturing } = await c.get("/api/feedback/stats");
  assert.deepEqual(capturing, { frames: true, audio: true });
  await told.return();
  socket.close();
  await closed(socket);
});

test("what a WebSocket sends keeps the time that its clock gave, and leaves whole in the tar", async (t) => {
  const { c, socket } = await connected(t);
  // The clock of the sender began at another time, and all of it is sent late.
  const begun = 123_456_789.25;
  socket.send(message(2, await picture(), begun + 250));
  for (let at = 0; at < 600; at += 100) socket.send(message(1, sound(100), begun + at));
  const { recorder } = c.moments;
  await holds(() => recorder.stats.frames === 1 && recorder.stats.audio_samples === 9_600);
  const praise = { sentiment: "positive", what: "the light" };
  const { name } = await jsonOf(await c.post("/api/feedback", praise), 201);
  const { feedback } = await c.get(`/api/feedback/${name}`);
  const { source_t_ms: seenMs } = feedback.frames[0];
  assert.deepEqual([seenMs, feedback.audio.source_t_ms], [begun + 250, begun]);
  const tar = await c.ask(`/api/feedback/${name}/package.tar`);
  const bytes = Buffer.from(await tar.arrayBuffer());
  assert.equal(Number(tar.headers.get("content-length")), bytes.length);
  const entries = await unpackTar(bytes);
  const paths = ["messages.json", "audio.wav", "frames/000000.jpg", "feedback.json"];
  const { packages } = c.moments;
  const files = paths.map(async (path) => [`${name}/${path}`, await packages.part(name, path)]);
  assert.deepEqual(
    entries.map(({ header, data }) => [header.name, Buffer.from(data ?? [])]),
    await Promise.all(files),
  );
  // Who does not know the time writes NaN.
  socket.send(message(1, sound(100)));
  await holds(() => recorder.stats.audio_samples === 11_200);
  const untold = await jsonOf(await c.post("/api/feedback", praise), 201);
  const { feedback: later } = await c.get(`/api/feedback/${untold.name}`);
  assert.equal(later.audio.source_t_ms, null);
  socket.terminate();
});

test("a WebSocket is closed with 4403 before anybody agreed, and once that is withdrawn", async (t) => {
  const c = await listening(t);
  assert.deepEqual(await closed(c.open()), { code: 4403, reason: "no consent" });
  await c.post("/api/feedback/consent", agreed);
  const socket = c.open();
  await once(socket, "open");
  socket.send(message(2, await picture()));
  await holds(() => c.moments.recorder.stats.frames === 1);
  const end = closed(socket);
  await c.post("/api/feedback/consent", { messages: true });
  assert.deepEqual(await end, { code: 4403, reason: "no consent" });
  assert.equal(c.moments.recorder.stats.frames, 0);
});

test("who watches hears at once what was agreed to, also at another process", async (t) => {
  const { moments } = await listening(t);
  const told: BufferState[] = [];
  const sockets = new MediaSockets(moments, systemClock, (state) => told.push(state));
  t.after(() => sockets.end());
  moments.recorder.agree({ messages: true });
  const { consent } = moments.recorder;
  assert.equal(told.length, 0);
  const hears = moments.agreedElsewhere({ ...consent, messages: false, timestamp: 9e9 });
  const [state, ...more] = told;
  assert.deepEqual([state?.consent.messages, more], [false, []]);
  await hears;
});

test("what only one stream was agreed to is taken of, the other is refused and told", async (t) => {
  const { c, socket } = await connected(t, { ...agreed, frames: false });
  socket.send(message(2, await picture()));
  const [text] = (await once(socket, "message")) as [Buffer];
  assert.deepEqual(JSON.parse(String(text)), { refused: { "frame: off": 1 } });
  socket.send(message(1, sound(100)));
  await holds(() => c.moments.recorder.stats.audio_samples === 1_600);
  assert.equal(c.moments.recorder.stats.frames, 0);
  socket.terminate();
});

test("what is no message of ours closes the WebSocket with 1003, and one that is too long with 1009", async (t) => {
  const c = await listening(t);
  await c.post("/api/feedback/consent", agreed);
  for (const [what, data, code] of [
    ["text", "hello", 1003],
    ["a message of an unknown kind", message(7, sound(1)), 1003],
    ["a message without its header", Buffer.from([1, 2]), 1003],
    ["sound whose time is infinite", message(1, sound(1), Number.POSITIVE_INFINITY), 1003],
    ["a picture whose time is -1e300", message(2, sound(1), -1e300), 1003],
    ["a picture of more than 2 MiB", message(2, new Uint8Array(2 * 1024 * 1024 + 1)), 1009],
  ] as const) {
    const socket = c.open();
    await once(socket, "open");
    socket.send(data);
    assert.equal((await closed(socket)).code, code, what);
  }
  assert.equal((await c.get("/api/feedback/stats")).frames, 0);
});

test("what is no JPEG, and half a sample, are refused, and the WebSocket stays", async (t) => {
  const { c, socket } = await connected(t);
  socket.send(message(2, new Uint8Array(64)));
  socket.send(message(1, new Uint8Array(3)));
  socket.send(message(1, sound(100)));
  await holds(() => c.moments.recorder.stats.audio_samples === 1_600);
  assert.equal(c.moments.recorder.stats.frames, 0);
  socket.terminate();
});

test(`${mediaLimits.sockets} WebSockets are open at once, one more is 503, and who leaves makes room`, async (t) => {
  const c = await listening(t);
  await c.post("/api/feedback/consent", agreed);
  const sockets = Array.from({ length: mediaLimits.sockets }, () => c.open());
  await Promise.all(sockets.map((socket) => once(socket, "open")));
  const [, { statusCode }] = await once(c.open(), "unexpected-response");
  assert.equal(statusCode, 503);
  const left = closed(sockets[0]!);
  sockets[0]!.close();
  await left;
  let isOpen = false;
  await holds(async () => {
    const socket = c.open();
    socket.on("error", () => undefined);
    await Promise.race([once(socket, "open"), once(socket, "unexpected-response")]);
    isOpen = socket.readyState === WebSocket.OPEN;
    return isOpen;
  });
  assert.ok(isOpen);
});

test("closing the server says good-bye to a WebSocket with 1001, and waits for no sender", async (t) => {
  const { c, socket } = await connected(t);
  const deaf = c.open();
  await once(deaf, "open");
  deaf.pause();
  const end = closed(socket);
  const begun = performance.now();
  await c.server.close();
  assert.deepEqual(await end, { code: 1001, reason: "ending" });
  assert.ok(performance.now() - begun < 1_500);
  deaf.terminate();
});

const version = "Sec-WebSocket-Version: 13";
const key = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==";

const upgrade = ["Connection: Upgrade", "Upgrade: websocket"];

/** A handshake as it stands on the wire. @returns the first line of the answer. */
async function shake(port: number, ...lines: readonly string[]): Promise<string> {
  const answer = await answerTo(port, "GET /api/media", ...upgrade, version, key, ...lines);
  return answer.split("\r\n", 1)[0] ?? "";
}

/** @returns what came first, of a refusal all of it. */
function answerTo(port: number, request: string, ...lines: readonly string[]): Promise<string> {
  const text = [`${request} HTTP/1.1`, ...lines, "", ""].join("\r\n");
  return new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1", () => socket.write(text));
    socket.once("error", reject);
    socket.once("data", (data) => {
      socket.destroy();
      resolve(String(data));
    });
  });
}

test("a handshake that is none is refused as a problem", async (t) => {
  const c = await listening(t);
  await c.post("/api/feedback/consent", agreed);
  for (const [status, method, lines] of [
    [400, "GET", [version]],
    [400, "GET", [version, "Sec-WebSocket-Key: short"]],
    [400, "GET", [key]],
    [400, "GET", [key, "Sec-WebSocket-Version: 99"]],
    [400, "GET", [version, key, "Sec-WebSocket-Protocol: ,"]],
    [405, "POST", [version, key]],
    [400, "GET", [version, key, "Host: a b"]],
  ] as const) {
    const host = lines.some((line) => line.startsWith("Host")) ? [] : [`Host: 127.0.0.1:${c.port}`];
    const answer = await answerTo(c.port, `${method} /api/media`, ...upgrade, ...lines, ...host);
    const [head = "", body = ""] = answer.split("\r\n\r\n");
    assert.equal(Number(head.slice(9, 12)), status, head);
    assert.match(head.toLowerCase(), /\ncontent-type: application\/problem\+json\r/);
    assert.match(head.toLowerCase(), /\nx-content-type-options: nosniff(\r|$)/);
    const problem = JSON.parse(body) as { status: number; code: string };
    const code = status === 405 ? "THROUGHLINE_METHOD_NOT_ALLOWED" : "THROUGHLINE_INVALID";
    assert.deepEqual([problem.status, problem.code], [status, code]);
  }
});

const foreign: readonly (readonly [what: string, lines: (port: number) => readonly string[]])[] = [
  ["another host", () => ["Host: evil.example"]],
  ["no host", () => []],
  ["two hosts", (port) => [`Host: 127.0.0.1:${port}`, "Host: evil.example"]],
  ["another origin", (port) => [`Host: 127.0.0.1:${port}`, "Origin: http://evil.example"]],
  ["another site", (port) => [`Host: 127.0.0.1:${port}`, "Sec-Fetch-Site: cross-site"]],
];

test("a WebSocket's handshake stands behind the guard of every route", async (t) => {
  const c = await listening(t);
  await c.post("/api/feedback/consent", agreed);
  for (const [what, lines] of foreign) {
    assert.match(await shake(c.port, ...lines(c.port)), /^HTTP\/1\.1 40[03] /, what);
  }
  const own = [`Host: 127.0.0.1:${c.port}`, `Origin: http://127.0.0.1:${c.port}`];
  assert.equal(await shake(c.port, ...own), "HTTP/1.1 101 Switching Protocols");
});

test("who is refused a WebSocket and holds on to the connection loses it all the same", async (t) => {
  const c = await listening(t, { limits: { connections: 4 } });
  const held: Socket[] = [];
  t.after(() => {
    for (const socket of held) socket.destroy();
  });
  const lines = ["GET /api/media HTTP/1.1", ...upgrade, "Host: evil.example", "", ""];
  for (let count = 0; count < 8; count++) {
    const socket = connect({ port: c.port, host: "127.0.0.1", allowHalfOpen: true });
    socket.on("error", () => undefined);
    held.push(socket);
    socket.write(lines.join("\r\n"));
    const [answer] = (await once(socket, "data")) as [Buffer];
    assert.match(String(answer), /^HTTP\/1\.1 403 /);
    socket.resume();
    await once(socket, "end");
  }
});

test("with a token a WebSocket needs it, and a wrong one is 401", async (t) => {
  const c = await listening(t, { token });
  const authorization = `Bearer ${token}`;
  const consent = await c.post("/api/feedback/consent", agreed, { authorization });
  await jsonOf(consent, 200);
  const host = `Host: 127.0.0.1:${c.port}`;
  assert.match(await shake(c.port, host), / 401 /);
  assert.match(await shake(c.port, host, `Authorization: ${authorization}x`), / 401 /);
  assert.match(await shake(c.port, host, `Authorization: ${authorization}`), / 101 /);
});

test("other upgrades are not heard: the request is answered as it is", async (t) => {
  const c = await listening(t);
  const lines = ["Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c"];
  const answer = await answerTo(c.port, "GET /healthz", `Host: 127.0.0.1:${c.port}`, ...lines);
  assert.match(answer, /^HTTP\/1\.1 200 /);
  await problemOf(await c.ask("/api/media"), 400, "THROUGHLINE_INVALID");
});

test("a handshake that comes before the server is answered by it", async (t) => {
  const port = await openPort({ port: 0 }, resolvePort({ version: "1.2.3" }));
  const url = port.url.replace("http", "ws");
  const early = closed(new WebSocket(`${url}/api/media`));
  const elsewhere = ["/api/events", "/", "/nowhere"].map((path) => {
    return once(new WebSocket(url + path), "unexpected-response");
  });
  const wrong = connect(port.address.port, "127.0.0.1");
  wrong.write("this is not HTTP\r\n\r\n");
  await once(wrong, "data"); // they have arrived by now
  await listening(t, {}, port);
  assert.equal((await early).code, mediaCloses.noConsent.code);
  const answers = (await Promise.all(elsewhere)) as [unknown, { readonly statusCode: number }][];
  const statuses = answers.map(([, { statusCode }]) => statusCode);
  assert.deepEqual(statuses, [400, 400, 404]);
});

test("sound over HTTP is octets or audio/pcm: another type is 415, and another rate than 16 kHz mono 400", async (t) => {
  const c = await listening(t);
  await c.post("/api/feedback/consent", agreed);
  const feed = (query: string, type: string) => {
    const body = sound(100) as never;
    return c.ask(`/api/audio${query}`, { method: "POST", headers: { "content-type": type }, body });
  };
  for (const type of ["application/octet-stream", "audio/pcm", "Audio/PCM; rate=16000"]) {
    assert.deepEqual(await jsonOf(await feed("", type), 200), { result: "accepted" }, type);
  }
  for (const type of ["audio/L16", "audio/wav"]) {
    await problemOf(await feed("", type), 415, "THROUGHLINE_MEDIA_TYPE");
  }
  for (const query of ["rate=44100", "rate=x", "channels=2", "captured_ms=soon", "source=robot"]) {
    await problemOf(await feed(`?${query}`, "audio/pcm"), 400, "THROUGHLINE_INVALID");
  }
  assert.equal(c.moments.recorder.stats.audio_samples, 3 * 1_600);
});

test("a package has the sender's captured_ms of pictures and sound, as they came", async (t) => {
  const c = await listening(t);
  await c.post("/api/feedback/consent", agreed);
  const feed = (path: string, type: string, body: Uint8Array) =>
    c.ask(path, { method: "POST", headers: { "content-type": type }, body: body as never });
  await feed("/api/audio?captured_ms=70000&rate=16000&channels=1", "audio/pcm", sound(1_000));
  await feed("/api/frames?captured_ms=70400.5&camera=left", "image/jpeg", await picture());
  const praise = { sentiment: "positive", what: "the light" };
  const { name } = await jsonOf(await c.post("/api/feedback", praise), 201);
  const { feedback } = await c.get(`/api/feedback/${name}`);
  const [frame] = feedback.frames;
  assert.deepEqual([frame.camera, frame.source_t_ms], ["left", 70_400.5]);
  assert.equal(feedback.audio.source_t_ms, 70_000);
  assert.ok(feedback.audio.start_t_ms < -1_000 && frame.t_ms <= 0);
});

function part(path: string, bytes: Uint8Array) {
  return async () => ({ path, bytes });
}

test("files of 0, 511, 512 and 513 bytes are in a tar as they were", async () => {
  const parts = [0, 511, 512, 513].map((length) =>
    part(`${length}`, new Uint8Array(length).fill(7)),
  );
  const tar = await Array.fromAsync(mediaTar("m", parts, (error) => assert.fail(String(error))));
  const bytes = Buffer.concat(tar);
  assert.equal(bytes.length, 512 * (1 + 2 + 2 + 3 + 2), "no block too many");
  const read = await unpackTar(bytes);
  const lengths = read.map(({ data }) => data?.filter((byte) => byte === 7).length ?? 0);
  assert.deepEqual(lengths, [0, 511, 512, 513]);
});

test("what breaks off is told, and ends in an error", async () => {
  const errors: unknown[] = [];
  const broken = new Error("the disk refused");
  const parts = [part("a", new Uint8Array(4)), () => Promise.reject(broken)];
  const read = Array.fromAsync(mediaTar("m", parts, (error) => errors.push(error)));
  await assert.rejects(read, broken);
  assert.deepEqual(errors, [broken]);
});

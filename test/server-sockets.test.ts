// What only a real connection shows: what comes over the wire, how long, and how it ends.
import assert from "node:assert/strict";
import { request as httpRequest } from "node:http";
import { connect, type Socket } from "node:net";
import { networkInterfaces } from "node:os";
import { test } from "node:test";
import type { LogStore } from "../src/core/storage/log-store.ts";
import { openMemoryStorage } from "../src/core/storage/memory/memory-storage.ts";
import { openThroughline } from "../src/core/throughline.ts";
import { json, type Router } from "../src/server/router.ts";
import type { ServerFeature } from "../src/server/server.ts";
import { changed } from "./support/changed.ts";
import type { ScriptedStep } from "./support/scripted-responder.ts";
import {
  type Companion,
  companion,
  eventsOf,
  jsonOf,
  listening,
  me,
  problemOf,
  until,
  words,
} from "./support/server-fixture.ts";

const token = "Zk3vQ9xT1mB7wYc5RdH0sLgE8uNpA2jFoIyXqVtMaeK";
/** At full size each route meets each host and each line; otherwise some, others than its neighbour. */
const isFull = process.env["THROUGHLINE_FULL"] === "1";
const { Request: ownRequest, Response: ownResponse } = globalThis;
const hang: ScriptedStep = { type: "hang" };

/** Sends bytes as they are. @returns everything that came back until the other side closed. */
function raw(port: number, ...parts: readonly (string | Uint8Array)[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1");
    let text = "";
    socket.setEncoding("latin1");
    socket.on("data", (chunk) => {
      text += chunk;
    });
    socket.on("error", (error: NodeJS.ErrnoException) => {
      // What was sent after the answer is thrown back.
      if (!["ECONNRESET", "EPIPE"].includes(error.code ?? "")) reject(error);
    });
    socket.on("close", () => resolve(text));
    for (const part of parts) socket.write(part);
  });
}

/** A request as it stands on the wire, closing after its answer. */
const wire = (method: string, path: string, ...lines: readonly string[]) =>
  [`${method} ${path} HTTP/1.1`, ...lines, "Connection: close", "", ""].join("\r\n");

/** @returns once the connection is closed; a reset is a way to be closed. */
const whenClosed = (socket: Socket) =>
  new Promise<void>((resolve) => {
    socket.on("error", () => undefined).once("close", () => resolve());
  });

const statusOf = (answer: string) => Number(answer.slice(9, 12));

function secured(answer: string): boolean {
  return [
    "content-security-policy: default-src 'none'; script-src 'self'",
    "x-content-type-options: nosniff",
    "referrer-policy: no-referrer",
    "cross-origin-opener-policy: same-origin",
    "cross-origin-resource-policy: same-origin",
  ].every((line) => answer.toLowerCase().includes(line));
}

/** Every operation there is, and what there is not. */
async function routesOf(c: Companion): Promise<(readonly [method: string, path: string])[]> {
  const headers = { authorization: `Bearer ${token}` };
  const { paths } = await jsonOf(await c.ask("/api/openapi.json", { headers }), 200);
  const routes = Object.entries<object>(paths).flatMap(([path, item]) =>
    Object.keys(item).map((method) => {
      const url = path.replace("{id}", "local%3Ame").replace("{message_id}", "x");
      return [method.toUpperCase(), url] as const;
    }),
  );
  const others = ["/", "/chats", "/icon.svg", "/api/openapi.json", "/nowhere"];
  return [
    ...routes,
    ...others.map((path) => ["GET", path] as const),
    ["POST", "/nowhere"],
    ["OPTIONS", "/api/chats"],
  ];
}

const hostLines = (port: number): readonly (readonly string[])[] => {
  const right = `Host: 127.0.0.1:${port}`;
  const names = [
    "evil.example",
    `evil.example:${port}`,
    "127.0.0.1",
    `127.0.0.1:${port + 1}`,
    "127.0.0.1:80",
    "localhost",
    "localhost:1",
    "[::1]",
    "[::1]:1",
    `::1:${port}`,
    `127.0.0.1.:${port}`,
    `localhost.:${port}`,
    `127.1:${port}`,
    `0.0.0.0:${port}`,
    `2130706433:${port}`,
    `0x7f.0.0.1:${port}`,
    `127.0.0.2:${port}`,
    `user@127.0.0.1:${port}`,
    `127.0.0.1:${port}@evil.example`,
    `127.0.0.1:${port}, evil.example`,
    `evil.example, 127.0.0.1:${port}`,
    `127.0.0.1:0${port}`,
    `127.0.0.1:${port}/`,
    `127.0.0.1:${port}#`,
    `127.0.0.1:${port}?`,
    `127.0.0.1:${port}:1`,
    `localhost:${port}.evil.example`,
    `evil.localhost:${port}`,
    `[::ffff:127.0.0.1]:${port}`,
    `[0:0:0:0:0:0:0:1]:${port}`,
    `\uff11\uff12\uff17.0.0.1:${port}`,
    "",
  ].map((name) => [`Host: ${name}`]);
  return [
    ...names,
    [],
    [right, right],
    [right, "Host: evil.example"],
    ["Host: evil.example", right],
  ];
};

test("no route answers a host that is not its own, however it is written", async (t) => {
  const c = await listening(t, [["Hi"]]);
  await c.say("Hello");
  const before = JSON.stringify(await Array.fromAsync(c.throughline.chats.records("local:me")));
  const variants = hostLines(c.port);
  assert.ok(variants.length >= 30);
  const wrong: string[] = [];
  const request = async (method: string, path: string, lines: readonly string[]) => {
    const body = method === "POST" ? ["Content-Type: application/json", "Content-Length: 0"] : [];
    const answer = await raw(c.port, wire(method, path, ...lines, ...body));
    const isRefused = [400, 403].includes(statusOf(answer)) && secured(answer);
    if (!isRefused) wrong.push(`${method} ${path} with ${lines}: ${answer.slice(0, 80)}`);
  };
  for (const [n, [method, path]] of (await routesOf(c)).entries()) {
    const chosen = variants.filter((_, at) => isFull || at % 16 === n % 16);
    await Promise.all(chosen.map((lines) => request(method, path, lines)));
  }
  assert.deepEqual(wrong, []);
  const records = await Array.fromAsync(c.throughline.chats.records("local:me"));
  assert.equal(JSON.stringify(records), before);
});

test("its own hosts are answered, on every route, with headers that let nobody else in", async (t) => {
  const c = await listening(t, [["Hi"]]);
  for (const host of ["127.0.0.1", "localhost", "LOCALHOST", "Localhost", "[::1]"]) {
    const answer = await raw(c.port, wire("GET", "/healthz", `Host: ${host}:${c.port}`));
    assert.equal(statusOf(answer), 200, host);
  }
  for (const [method, path] of await routesOf(c)) {
    if (path === "/api/events") continue; // does not end
    const origin = `Origin: http://127.0.0.1:${c.port}`;
    const answer = await raw(c.port, wire(method, path, `Host: 127.0.0.1:${c.port}`, origin));
    assert.ok(statusOf(answer) >= 200, `${method} ${path}`);
    assert.ok(secured(answer), `${method} ${path}: ${answer}`);
    assert.doesNotMatch(answer, /access-control|x-powered-by|^server:/im);
  }
});

test("no route answers a page of another origin", async (t) => {
  const c = await listening(t);
  const host = `Host: 127.0.0.1:${c.port}`;
  const others = [
    ["Origin: http://evil.example"],
    ["Origin: null"],
    ["Origin: http://localhost:3000"],
    ["Origin: http://evil.example", "Origin: http://evil.example"],
    ["Sec-Fetch-Site: cross-site"],
    ["Sec-Fetch-Site: same-site"],
  ];
  for (const [n, [method, path]] of (await routesOf(c)).entries()) {
    for (const lines of others.filter((_, at) => isFull || at % 6 === n % 6)) {
      const answer = await raw(c.port, wire(method, path, host, ...lines));
      assert.equal(statusOf(answer), 403, `${method} ${path} with ${lines}`);
    }
  }
});

const post = (...lines: readonly string[]) => `POST ${me}/stop HTTP/1.1\r\n${lines.join("\r\n")}`;
/** HERE stands for the server's own host and port. */
const own = "Host: HERE";
const malformed: readonly (readonly [says: string, request: string, status?: number])[] = [
  [
    "a length and chunks",
    post(own, "Content-Length: 2", "Transfer-Encoding: chunked", "", "0\r\n\r\n"),
  ],
  ["two lengths", post(own, "Content-Length: 2", "Content-Length: 2", "", "{}")],
  ["two different lengths", post(own, "Content-Length: 2", "Content-Length: 3", "", "{} ")],
  ["a negative length", post(own, "Content-Length: -1", "", "")],
  ["chunks that are not last", post(own, "Transfer-Encoding: chunked, identity", "", "0\r\n\r\n")],
  ["lines that end in LF alone", `GET /healthz HTTP/1.1\n${own}\n\n`],
  ["a folded line", `GET /healthz HTTP/1.1\r\n${own}\r\nX: a\r\n b\r\n\r\n`],
  ["a space before the colon", `GET / HTTP/1.1\r\n${own.replace(":", " :")}\r\n\r\n`],
  ["a NUL in a header", `GET / HTTP/1.1\r\n${own}\r\nX: a\0b\r\n\r\n`],
  ["HTTP/1.0 without a host", "GET /healthz HTTP/1.0\r\n\r\n"],
  ["no HTTP at all", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"],
  ["20,000 bytes of headers", wire("GET", "/", own, `X: ${"x".repeat(20_000)}`), 431],
  ["an absolute target of its own", wire("GET", "http://HERE/healthz", own), 403],
  ["an absolute target of another host", wire("GET", "http://evil.example/healthz", own), 403],
  ["a target that is a star", wire("OPTIONS", "*", own)],
  ["steps in the path", wire("GET", "/api/chats/../../etc/passwd", own)],
  ["encoded steps in the path", wire("GET", "/api/chats/%2e%2e/messages", own)],
  ["half-encoded steps in the path", wire("GET", "/api/chats/.%2E", own)],
  ["a backslash in the path", wire("GET", "/api\\chats", own)],
  ["a fragment", wire("GET", "/api/chats/a#b", own)],
  ["an overlong slash", wire("GET", "/page%c0%afserver.ts", own)],
];
test("a request that is malformed is refused as a problem, and the connection closed", async (t) => {
  const c = await listening(t);
  for (const [says, request, status = 400] of malformed) {
    const answer = await raw(c.port, request.replaceAll("HERE", `127.0.0.1:${c.port}`));
    assert.equal(statusOf(answer), status, `${says}: ${answer}`);
    assert.ok(secured(answer), answer);
    assert.match(answer, /application\/problem\+json/);
  }
});

test("an unknown expectation is 417, and the next request on the connection is answered", async (t) => {
  const c = await listening(t);
  const host = `Host: 127.0.0.1:${c.port}`;
  const expecting = ["GET /healthz HTTP/1.1", host, "Expect: foo", "", ""].join("\r\n");
  const answer = await raw(c.port, expecting + wire("GET", "/healthz", host));
  assert.match(answer, /^HTTP\/1\.1 417 [\s\S]*HTTP\/1\.1 200 /);
});

test("a chunked body that is too large is 413 at the limit, and the connection closed", async (t) => {
  const c = await listening(t);
  const head = [
    `POST ${me}/messages HTTP/1.1`,
    ...[`Host: 127.0.0.1:${c.port}`, "Content-Type: application/json"],
    ...["Transfer-Encoding: chunked", "", ""],
  ].join("\r\n");
  const chunk = `10000\r\n${"x".repeat(0x10000)}\r\n`;
  const answer = await raw(c.port, head, ...Array.from({ length: 17 }, () => chunk));
  assert.equal(statusOf(answer), 413);
  assert.match(answer, /THROUGHLINE_TOO_LARGE/);
  assert.deepEqual((await c.get("/api/chats")).chats, []);
});

test("a body that says that it is too large is 413 before it is sent", async (t) => {
  const c = await listening(t);
  const lines = ["Content-Type: application/json", "Content-Length: 1048577", "", ""];
  const answer = await raw(c.port, post(`Host: 127.0.0.1:${c.port}`, ...lines));
  assert.equal(statusOf(answer), 413);
});

test("a body that breaks off stores nothing", async (t) => {
  const c = await listening(t);
  const socket = connect(c.port, "127.0.0.1");
  const lines = ["Content-Type: application/json", "Content-Length: 100", "", '{"content":"a'];
  socket.write(
    `POST ${me}/messages HTTP/1.1\r\nHost: 127.0.0.1:${c.port}\r\n${lines.join("\r\n")}`,
  );
  // The next request is served after the broken one was seen.
  await new Promise<void>((resolve) => socket.end(resolve));
  await jsonOf(await c.send("/healthz"), 200);
  assert.deepEqual((await c.get("/api/chats")).chats, []);
});

test("an answer whose client left before it was made holds nothing", async (t) => {
  const left = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  const feature: ServerFeature = (router: Router) => {
    router.serve("get", "/small", () => json({ text: "x".repeat(600) }));
    router.serve("get", "/late", async ({ env }) => {
      begun.resolve();
      await new Promise<void>((resolve) => env.outgoing?.once("close", resolve));
      left.resolve();
      return json({ text: "x".repeat(600) });
    });
    return () => undefined;
  };
  const c = await listening(t, [], { limits: { answeredBytes: 1_000 }, features: [feature] });
  const socket = connect(c.port, "127.0.0.1");
  socket.write(`GET /late HTTP/1.1\r\nHost: 127.0.0.1:${c.port}\r\n\r\n`);
  await begun.promise;
  socket.destroy();
  await left.promise;
  for (let n = 0; n < 3; n++) assert.equal((await c.send("/small")).status, 200);
});

test("bodies that arrive have a budget: past it 503, and free again when one is gone", async (t) => {
  const c = await listening(t, [], { limits: { arrivingBytes: 100_000 } });
  const lines = ["Connection: close", "Content-Type: application/json", "Content-Length: 90000"];
  const head = [`POST ${me}/messages HTTP/1.1`, `Host: 127.0.0.1:${c.port}`, ...lines, "", ""];
  const holding = connect(c.port, "127.0.0.1");
  holding.write(head.join("\r\n") + " ".repeat(80_000));
  /** Sends a body that is no message until it is answered otherwise: what the server has seen decides. */
  const answerBeside = async (status: number) => {
    for (let tries = 0; tries < 1_000; tries++) {
      const answer = await raw(c.port, head.join("\r\n") + `{"content":1}`.padEnd(90_000));
      if (statusOf(answer) === status) return answer;
    }
    return "";
  };
  const refused = await answerBeside(503);
  assert.match(refused, /THROUGHLINE_BUSY/);
  assert.match(refused, /retry-after: 5/i);
  holding.destroy();
  assert.match(await answerBeside(400), /THROUGHLINE_INVALID/);
});

for (const [limits, sent] of [
  [{ headersTimeoutMs: 50 }, ""],
  [{ requestTimeoutMs: 50 }, "Content-Type: application/json\r\nContent-Length: 9\r\n\r\n{"],
] as const) {
  test(`a request that stays unfinished is 408, by ${JSON.stringify(limits)}`, async (t) => {
    const c = await listening(t, [], { limits });
    const answer = await raw(c.port, `${post(`Host: 127.0.0.1:${c.port}`)}\r\n${sent}`);
    assert.equal(statusOf(answer), 408);
    assert.match(answer, /THROUGHLINE_TIMED_OUT/);
  });
}

test("one connection more than the limit is dropped, and the others are served", async (t) => {
  const c = await listening(t, [], { limits: { connections: 3 } });
  const open = () => {
    const socket = connect(c.port, "127.0.0.1");
    return new Promise<Socket>((resolve) => socket.once("connect", () => resolve(socket)));
  };
  const idle = [await open(), await open()];
  const request = wire("GET", "/healthz", `Host: 127.0.0.1:${c.port}`);
  assert.equal(statusOf(await raw(c.port, request)), 200);
  idle.push(await open());
  assert.equal(await raw(c.port, request), "");
  for (const socket of idle) socket.destroy();
});

test("a reader that takes nothing is dropped, and what is told goes on", async (t) => {
  const big = "x".repeat(900_000);
  const c = await listening(
    t,
    Array.from({ length: 40 }, () => [big]),
  );
  const socket = connect(c.port, "127.0.0.1");
  const isGone = whenClosed(socket);
  let last = "";
  socket.on("data", (chunk) => {
    last = chunk.toString("latin1").slice(-5);
  });
  socket.pause();
  socket.write(`GET /api/events HTTP/1.1\r\nHost: 127.0.0.1:${c.port}\r\n\r\n`);
  const watchers = async () => {
    const text = await (await c.ask("/metrics")).text();
    return Number(text.match(/throughline_watchers (\d+)/)?.[1]);
  };
  while ((await watchers()) === 0) await new Promise((resolve) => setImmediate(resolve));
  let turns = 0;
  while ((await watchers()) === 1 && turns < 40) {
    turns++;
    await c.post(`/api/chats/${turns}/messages`, { content: big });
  }
  assert.ok(turns < 40, "the reader was never dropped");
  socket.resume();
  await isGone;
  assert.notEqual(last, "0\r\n\r\n", "cut off, not ended: nothing waits for the reader any more");
});

test("who leaves a stream on the wire does not stop the turn", async (t) => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const c = await listening(t, [["Still ", { type: "wait", until: promise }, "here"]]);
  const leaving = new AbortController();
  const response = await c.send(`${me}/messages`, {
    ...{ method: "POST", body: '{"content":"Hello"}', signal: leaving.signal },
    headers: { accept: "text/event-stream" },
  });
  const events = eventsOf(response.body);
  await until(events, "text");
  const turn = c.turns.running("local:me");
  leaving.abort();
  await assert.rejects(events.next());
  resolve();
  assert.equal((await turn?.done)?.outcome, "answered");
  const { messages } = await c.get(`${me}/messages`);
  assert.deepEqual(words(messages), ["user: Hello", "assistant: Still here"]);
});

test("closing ends streams, keeps what a turn said, and leaves no connection", async (t) => {
  const c = await listening(t, [["Once ", hang]]);
  const events = eventsOf((await c.send("/api/events")).body);
  const headers = { accept: "text/event-stream" };
  const body = '{"content":"Tell me"}';
  const turn = eventsOf((await c.send(`${me}/messages`, { method: "POST", body, headers })).body);
  await until(turn, "text");
  const late = eventsOf((await c.send(`${me}/turn`)).body);
  await until(late, "text");
  const stalled = connect(c.port, "127.0.0.1").pause();
  stalled.write(`GET /api/events HTTP/1.1\r\nHost: 127.0.0.1:${c.port}\r\n\r\n`);
  const half = connect(c.port, "127.0.0.1").resume();
  const gone = [stalled, half].map(whenClosed);
  await new Promise<void>((resolve) => half.write("GET / HTTP/1.1\r\n", () => resolve()));
  const begun = performance.now();
  await Promise.all([c.server.close(), c.turns.close(0)]);
  assert.ok(performance.now() - begun < 2_000, `${performance.now() - begun} ms`);
  const { data } = await until(turn, "result");
  assert.deepEqual([data.outcome, data.assistant.content], ["interrupted", "Once "]);
  await Array.fromAsync(events);
  await Array.fromAsync(late);
  stalled.resume();
  await Promise.all(gone);
  await assert.rejects(c.send("/healthz"));
  await c.server.close();
});

test("closing waits for a request that was begun, and answers it", async (t) => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const limits = { flushMs: 60_000 };
  const c = await listening(t, [[{ type: "wait", until: promise }, "Hi"]], { limits });
  const answer = c.send(`${me}/messages`, { method: "POST", body: '{"content":"Hello"}' });
  while (c.turns.running("local:me") === undefined) {
    await new Promise((again) => setImmediate(again));
  }
  const closed = c.server.close();
  await problemOf(await c.ask("/healthz"), 503, "THROUGHLINE_CLOSED");
  resolve();
  const response = await answer;
  assert.equal((await jsonOf(response, 200)).assistant.content, "Hi");
  const answered = performance.now();
  await closed;
  assert.ok(performance.now() - answered < 3_000, "an idle connection was waited for");
});

test("closing waits for what was begun, also where it is no turn", async () => {
  const begun = Promise.withResolvers<void>();
  const gate = Promise.withResolvers<void>();
  let isSlow = false;
  const memory = openMemoryStorage();
  const storage = changed(memory, {
    logs(...args) {
      const logs = memory.logs(...args);
      const list: LogStore["list"] = async (options) => {
        if (isSlow) begun.resolve();
        if (isSlow) await gate.promise;
        return logs.list(options);
      };
      return changed(logs, { list });
    },
  });
  const c = await companion([], { throughline: await openThroughline({ storage }) });
  isSlow = true;
  const answer = c.ask("/api/chats");
  await begun.promise;
  let isClosed = false;
  const closed = c.server.close().then(() => {
    isClosed = true;
  });
  await problemOf(await c.ask("/healthz"), 503, "THROUGHLINE_CLOSED");
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(isClosed, false);
  gate.resolve();
  assert.equal((await answer).status, 200);
  await closed;
});

test("closing does not wait for a request that is still arriving", async (t) => {
  const c = await listening(t);
  const socket = connect(c.port, "127.0.0.1");
  const gone = whenClosed(socket.resume());
  const lines = ["Content-Type: application/json", "Content-Length: 100", "Expect: 100-continue"];
  const going = new Promise<void>((resolve) => socket.once("data", () => resolve()));
  socket.write(`${post(`Host: 127.0.0.1:${c.port}`, ...lines)}\r\n\r\n{`);
  await going;
  const begun = performance.now();
  await c.server.close();
  assert.ok(performance.now() - begun < 2_000, `${performance.now() - begun} ms`);
  await gone;
});

test("a server that never listened closes, and ends its streams", async () => {
  const c = await companion();
  const events = eventsOf((await c.ask("/api/events")).body);
  await c.server.close();
  assert.equal((await Array.fromAsync(events)).length, 1);
});

test("with a token every route needs it, but for signing in, health and the page's files", async (t) => {
  const c = await listening(t, [["Hi"]], { token });
  const host = `Host: 127.0.0.1:${c.port}`;
  const open = ["/", "/chats", "/mood", "/icon.svg", "/healthz", "/readyz"];
  const wrong = ["X: y", "Authorization: Bearer wrong", `Cookie: token=${token}`];
  for (const [n, [method, path]] of (await routesOf(c)).entries()) {
    for (const line of wrong.filter((_, at) => isFull || at === n % 3)) {
      const answer = await raw(c.port, wire(method, path, host, line));
      const isOpen = open.includes(path) || path === "/api/sign-in";
      assert.equal(statusOf(answer) !== 401, isOpen, `${method} ${path}: ${answer}`);
      assert.ok(!answer.includes(token));
    }
  }
  const url = `${me}?token=${token}`;
  assert.equal(statusOf(await raw(c.port, wire("GET", url, host))), 401);
});

test("a browser signs in with the code from the terminal, and stays signed in", async (t) => {
  const c = await listening(t, [["Hi"]], { token });
  const code = c.server.signInCode();
  const signIn = (given: string) =>
    c.send("/api/sign-in", { method: "POST", body: JSON.stringify({ code: given }) });
  await problemOf(await signIn("wrong"), 401, "THROUGHLINE_UNAUTHORIZED");
  const response = await signIn(code);
  assert.equal(response.status, 204);
  const cookie = String(response.headers.get("set-cookie")).split(";", 1)[0]!;
  assert.ok(cookie.startsWith(`throughline_${c.port}=`) && !cookie.includes(token));
  const answer = await c.send(`${me}/messages`, {
    ...{ method: "POST", body: '{"content":"Hello"}', headers: { cookie } },
  });
  await jsonOf(answer, 200);
  await problemOf(await c.send("/api/chats"), 401, "THROUGHLINE_UNAUTHORIZED");
  await problemOf(await signIn(code), 401, "THROUGHLINE_UNAUTHORIZED");
});

const misconfigured = { code: "THROUGHLINE_CONFIGURATION" };

test("without a token an address of others is refused, and with one too what is no host; then nothing listens", async (t) => {
  const other = await listening(t);
  await other.server.close();
  const { port } = other;
  for (const [options, hosts] of [
    [{}, ["0.0.0.0", "::", "192.168.1.5", "nova.example", ""]],
    [{ token }, [null, 5, ["127.0.0.1"]]],
  ] as const) {
    for (const host of hosts) {
      const c = await companion([], options);
      await assert.rejects(c.server.listen({ host: host as never, port }), misconfigured);
      await assert.rejects(raw(port, ""), { code: "ECONNREFUSED" }, JSON.stringify(host));
    }
  }
});

test("with a token every address can be served, and the url is one that works here", async () => {
  const c = await companion([], { token });
  const { url, port } = await c.listen({ host: "0.0.0.0", port: 0 });
  assert.equal(url, `http://127.0.0.1:${port}`);
  assert.equal((await fetch(`${url}/healthz`)).status, 200);
  await c.server.close();
});

test("a host, a port and a limit that are undefined are as if they were left out", async (t) => {
  const c = await companion([], { token, limits: { bodyBytes: undefined as never, watchers: 3 } });
  const { url, port } = await c.listen({ host: undefined as never, port: 0 });
  t.after(() => c.server.close());
  assert.equal(url, `http://127.0.0.1:${port}`);
  assert.equal((await fetch(`${url}/healthz`)).status, 200);
  for (const addresses of Object.values(networkInterfaces())) {
    for (const { address, internal, family } of addresses ?? []) {
      if (internal || family !== "IPv4") continue;
      await assert.rejects(fetch(`http://${address}:${port}/healthz`), TypeError);
    }
  }
  const asked = connect(port, "127.0.0.2");
  const reached = await new Promise((resolve) => {
    asked.once("connect", () => resolve(true)).once("error", () => resolve(false));
  });
  asked.destroy();
  assert.equal(reached, false);
});

test("listening leaves the process's own Request and Response as they are", async (t) => {
  await listening(t);
  assert.ok(globalThis.Request === ownRequest && globalThis.Response === ownResponse);
});

test("localhost is both of this machine's addresses", async (t) => {
  const c = await companion();
  const { port } = await c.listen({ host: "localhost", port: 0 });
  t.after(() => c.server.close());
  const get = (host: string) =>
    new Promise<number | undefined>((resolve) => {
      const request = httpRequest({ host, port, path: "/healthz" }, ({ statusCode }) => {
        request.destroy();
        resolve(statusCode);
      });
      request.on("error", () => resolve(undefined)).end();
    });
  assert.equal(await get("127.0.0.1"), 200);
  const all = Object.values(networkInterfaces()).flat();
  if (!all.some((each) => each?.address === "::1")) t.skip("this machine has no ::1");
  else assert.equal(await get("::1"), 200);
});

test("an address that is taken is told as such, and a server listens once", async (t) => {
  const c = await listening(t);
  const other = await companion();
  const taken = other.server.listen({ port: c.port });
  await assert.rejects(taken, { code: "THROUGHLINE_UNAVAILABLE" });
  await assert.rejects(c.server.listen({ port: 0 }), TypeError);
});

test("a weak token, a pattern for a host and a limit of 0 are refused", async () => {
  for (const options of [{ token: "secret" }, { hosts: ["*"] }, { limits: { watchers: 0 } }]) {
    await assert.rejects(companion([], options), misconfigured);
  }
});

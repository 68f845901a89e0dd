import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { everything } from "./support/everything.ts";
import { companion, jsonOf, me, problemOf } from "./support/server-fixture.ts";

const messages = `${me}/messages`;
const mebibyte = 1_048_576;

/** Bytes as they are, where a string would be made well-formed. */
async function sendBytes(c: Awaited<ReturnType<typeof companion>>, body: Uint8Array) {
  return c.server.fetch(
    new Request(`http://127.0.0.1:7423${messages}`, {
      method: "POST",
      headers: { host: "127.0.0.1:7423", "content-type": "application/json" },
      body: new Uint8Array(body),
    }),
  );
}

/** For what changes nothing. */
const shared = await companion([["Hi"]]);
await shared.say("Hello");

const limited = "limit: must be a whole number from 1 to 1000";
const paged = "before: must be a whole number from 0 to 9007199254740991";
const listed = "the fields are limit, query, prefix, cursor, unanswered, damaged";
for (const [path, detail] of [
  ["/api/chats?limit=0", limited],
  ["/api/chats?limit=-1", limited],
  ["/api/chats?limit=abc", limited],
  ["/api/chats?limit=1001", limited],
  ["/api/chats?limit=", limited],
  ["/api/chats?limit=1e2", limited],
  ["/api/chats?limit=01", limited],
  ["/api/chats?limit=1.5", limited],
  ["/api/chats?limit=%31%30x", limited],
  ["/api/chats?limit=5&limit=6", "a query parameter comes at most once"],
  ["/api/chats?order=up", `the query: unknown field "order"; ${listed}`],
  ["/api/chats?__proto__=1", `the query: unknown field "__proto__"; ${listed}`],
  ["/api/chats?cursor=", "cursor: must not be empty"],
  ["/api/chats?cursor=nonsense", "cursor was not answered by a list"],
  ["/api/chats?query=", "query: must not be empty"],
  ["/api/chats?query=a&cursor=b", "a list with a query has no cursor"],
  ["/api/chats?damaged=true&cursor=b", "a list with damaged chats has no cursor"],
  ["/api/chats?unanswered=1", "unanswered: must be true or false"],
  ["/api/chats?damaged=yes", "damaged: must be true or false"],
  ["/api/chats?query=te&prefix=yes", "prefix: must be true or false"],
  ["/api/chats?query=%ff", "the query is not well encoded"],
  ["/api/chats?query=%2", "the query is not well encoded"],
  [`/api/chats?query=${"a".repeat(1_001)}`, "query: must be at most 1000 characters"],
  ["/api/search", "query: is missing"],
  ["/api/search?query=a&limit=1001", limited],
  ["/api/search?query=a&chat_id=", "chat id must not be empty"],
  [`${messages}?before=-1`, paged],
  [`${messages}?before=9007199254740992`, paged],
  [`${messages}?before=x`, paged],
  [
    `${messages}?after=1`,
    'the query: unknown field "after"; the fields are limit, before, if_exists',
  ],
  [`${me}/export?format=pdf`, "format: must be one of jsonl, markdown, html"],
  ["/healthz?verbose", 'the query: unknown field "verbose"; it takes none'],
  ["/api/chats/%ff", "the path is not well encoded"],
  ["/api/chats/%", "the path is not well encoded"],
  ["/api/chats/%c0%ae", "the path is not well encoded"],
  ["/api/chats/a%00b", "chat id must not hold NUL"],
] as const) {
  test(`GET ${path.slice(0, 60)} is refused: ${detail}`, async () => {
    const problem = await problemOf(await shared.ask(path), 400, "THROUGHLINE_INVALID");
    assert.equal(problem.detail, detail);
  });
}

test("a path that leads nowhere is 404, and an id that is too long 413", async () => {
  const chats = "/api/chats/ /api/chats//messages /api/chats/a/messages/ /api/chats/a/b /API/chats";
  const files = "/page/../server.ts /page%2fserver.ts /..%2f..%2fetc/passwd /index.html";
  for (const path of `${chats} /%61pi/chats /api ${files}`.split(" ")) {
    assert.equal((await shared.ask(path)).status, 404, path);
  }
  assert.equal((await shared.ask(`/api/chats/${"x".repeat(1_025)}`)).status, 413);
});

const blank = "content must be a string with something in it, or come with an attachment";
const unknown = (names: string) =>
  `the body: unknown field ${names}; the fields are content, name, provider, model`;
const noName = "model: must be a name without spaces, and no address";
const noId = "chat_id: must not be . or ..: no path leads there";
for (const [path, body, detail] of [
  [messages, "{}", "content: is missing"],
  [messages, '{"content":""}', blank],
  [messages, '{"content":" \\n\\t"}', blank],
  [messages, '{"content":5}', "content: must be a text"],
  [messages, '{"content":["a"]}', "content: must be a text"],
  [messages, '{"content":"a","role":"system"}', unknown('"role"')],
  [messages, '{"content":"a","id":"x","seq":1}', unknown('"id", "seq"')],
  [messages, '{"content":"a","__proto__":{"x":1}}', unknown('"__proto__"')],
  [messages, '{"content":"a","provider":""}', "provider: must not be empty"],
  [messages, '{"content":"a","model":"http://evil.example/v1#m"}', noName],
  [messages, '{"content":"a","model":"a b"}', noName],
  [messages, "[]", "the body: must be an object"],
  [messages, "null", "the body: must be an object"],
  [messages, '"text"', "the body: must be an object"],
  [messages, "{", "the body is not JSON (SyntaxError)"],
  [messages, '{"content":"a"}x', "the body is not JSON (SyntaxError)"],
  [messages, '{"content":NaN}', "the body is not JSON (SyntaxError)"],
  [
    messages,
    '{"content":"a","n":9007199254740993}',
    "the body holds a whole number past 2^53: send it as a string",
  ],
  [messages, '{"content":"a","n":1e400}', "the body holds a number that is not finite"],
  [messages, '{"content":"a","n":-0}', "the body holds -0, which JSON text does not keep"],
  [`${me}/stop`, '{"now":true}', 'the body: unknown field "now"; the fields are turn_id'],
  [`${me}/reset`, '{"provider":null}', "provider: must be a text"],
  [`${me}/fork`, '{"message_id":"a"}', "chat_id: is missing"],
  [`${me}/fork`, '{"message_id":"a","chat_id":"b\\u0000"}', "chat id must not hold NUL"],
  [`${me}/fork`, '{"message_id":"a","chat_id":"\\ud800"}', "chat id must not hold lone surrogates"],
  [`${me}/fork`, '{"message_id":"a","chat_id":"."}', noId],
  [`${me}/fork`, '{"message_id":"a","chat_id":".."}', noId],
  ["/api/sign-in", '{"code":""}', "code: must not be empty"],
] as const) {
  test(`POST ${path} with ${body.slice(0, 50)} is refused: ${detail}`, async () => {
    const response = await shared.ask(path, { method: "POST", body });
    assert.equal((await problemOf(response, 400, "THROUGHLINE_INVALID")).detail, detail);
    assert.equal((await shared.get(messages)).messages.length, 2);
    assert.equal(({} as Record<string, unknown>)["x"], undefined);
  });
}

test("a body is read as JSON in UTF-8, and refused with 415 as anything else", async () => {
  const c = await companion([["Hi"], ["Hi"], ["Hi"]]);
  const send = (path: string, type: string) =>
    c.ask(path, { method: "POST", body: '{"content":"a"}', headers: { "content-type": type } });
  const right = ["application/json", "application/json; charset=utf-8"];
  for (const type of [...right, 'Application/JSON;charset="UTF-8"']) {
    for (const path of [messages, `${me}/stop`]) {
      assert.notEqual((await send(path, type)).status, 415, type);
    }
  }
  const other = "application/jsonp application/problem+json text/plain multipart/form-data";
  for (const type of [
    ...["", "application/json; charset=latin1", "application/json, text/plain"],
    ...`${other} application/x-www-form-urlencoded`.split(" "),
  ]) {
    for (const path of [messages, `${me}/stop`, `${me}/clear`, "/api/sign-in"]) {
      await problemOf(await send(path, type), 415, "THROUGHLINE_MEDIA_TYPE");
    }
  }
});

test("no route takes text in place of JSON, or more than a body may have", async () => {
  await using c = await everything();
  const { paths } = await c.get("/api/openapi.json");
  const routes = Object.keys(paths).filter(
    (path) => paths[path].post?.requestBody?.content["application/json"] !== undefined,
  );
  assert.ok(routes.length > 30, `${routes.length} routes`);
  const large = JSON.stringify({ content: "x".repeat(mebibyte) });
  const text = { "content-type": "text/plain" };
  const name = "2026-03-04T09-15-00_positive_fb_0a1b2c3d4e5f";
  for (const route of routes) {
    const path = route.replace("{name}", name).replaceAll(/\{\w+\}/g, "x");
    const asText = await c.ask(path, { method: "POST", body: "{}", headers: text });
    await problemOf(asText, 415, "THROUGHLINE_MEDIA_TYPE");
    const tooLarge = await c.ask(path, { method: "POST", body: large });
    await problemOf(tooLarge, 413, "THROUGHLINE_TOO_LARGE");
  }
});

for (const [bytes, status] of [
  [mebibyte - 1, 200],
  [mebibyte, 200],
  [mebibyte + 1, 413],
] as const) {
  for (const kind of ["with its length", "chunked"]) {
    test(`a body of ${bytes} bytes, ${kind}, is ${status}`, async () => {
      const c = await companion([["Hi"]]);
      const text = `{"content":"Hello"}`;
      const body = new TextEncoder().encode(text + " ".repeat(bytes - text.length));
      const init = { method: "POST", duplex: "half" } as RequestInit & { body?: string };
      const request = new Request(`http://127.0.0.1:7423${messages}`, {
        ...init,
        headers: {
          ...{ host: "127.0.0.1:7423", "content-type": "application/json" },
          ...(kind === "chunked" ? {} : { "content-length": String(bytes) }),
        },
        body: kind === "chunked" ? new Blob([body]).stream() : body,
      });
      const response = await c.server.fetch(request);
      assert.equal(response.status, status);
      assert.equal(response.headers.get("connection"), status === 413 ? "close" : null);
    });
  }
}

test("sound that says it is too long is read as far as it may go, so that its sender gets the 413", async () => {
  await using c = await everything();
  let read = 0;
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      read += mebibyte;
      controller.enqueue(new Uint8Array(mebibyte));
    },
  });
  const init = { method: "POST", duplex: "half", body } as RequestInit;
  const response = await c.server.fetch(
    new Request("http://127.0.0.1:7423/api/audio", {
      ...init,
      headers: {
        host: "127.0.0.1:7423",
        "content-type": "application/octet-stream",
        "content-length": String(12 * mebibyte),
      },
    }),
  );
  assert.equal(response.status, 413);
  assert.ok(read > 4 * mebibyte && read < 8 * mebibyte, `${read} bytes`);
});

test("a message of 1,000,000 bytes comes back equal; one that is too long to be stored is 413", async () => {
  const c = await companion([["Hi"]]);
  const content = "é".repeat(500_000);
  assert.equal((await jsonOf(await c.say(content), 200)).user.content, content);
  await problemOf(await c.say("x".repeat(mebibyte - 20)), 413, "THROUGHLINE_TOO_LARGE");
  assert.equal((await c.get(messages)).messages.length, 2);
});

test("a body that is too deep, or has more than 10,000 keys, is 413", async () => {
  for (const [depth, status] of [
    [64, 400],
    [65, 413],
    [1_000_000, 413],
  ] as const) {
    const body = `{"a":${"[".repeat(depth - 1)}${"]".repeat(depth - 1)}}`.slice(0, mebibyte);
    assert.equal((await shared.ask(messages, { method: "POST", body })).status, status);
  }
  const body = JSON.stringify(Object.fromEntries(Array.from({ length: 10_001 }, (_, i) => [i, i])));
  const response = await shared.ask(messages, { method: "POST", body });
  await problemOf(response, 413, "THROUGHLINE_TOO_LARGE");
});

test("a body that is not UTF-8 is 400", async () => {
  const [before, after] = ['{"content":"a', '"}'].map((text) => new TextEncoder().encode(text));
  for (const bytes of [[0x80], [0xc0, 0xaf], [0xed, 0xa0, 0x80], [0xc3], [0xff, 0xfe]]) {
    const body = Buffer.concat([before!, new Uint8Array(bytes), after!]);
    const problem = await problemOf(await sendBytes(shared, body), 400, "THROUGHLINE_INVALID");
    assert.equal(problem.detail, "the body is not UTF-8");
  }
});

test("a message comes back as it was said, whatever its characters, but well formed", async () => {
  const c = await companion(Array.from({ length: 30 }, () => ["Hi"]));
  const unit = fc.nat({ max: 0xffff }).map((code) => String.fromCharCode(code));
  const content = fc.string({ unit, maxLength: 40 }).filter((text) => text.trim() !== "");
  const check = async (text: string) => {
    const { user } = await jsonOf(await c.say(text), 200);
    assert.equal(user.content, text.toWellFormed());
    const { messages: page } = await c.get(`${messages}?limit=2`);
    assert.equal(page[0].content, text.toWellFormed());
  };
  await check("\ud800 \udfff \u0000\u2028\u2029\ufeff\u202e\r\n\u{1f9f5}");
  await fc.assert(fc.asyncProperty(content, check), { numRuns: 20 });
});

test("the events of a turn hold no lone surrogate either", async () => {
  const c = await companion([["Hi"]]);
  const response = await c.stream(messages, { content: "half an emoji: \ud83d" });
  const events = await response.text();
  assert.match(events, /half an emoji: \ufffd/);
  assert.doesNotMatch(events, /\\ud83d/);
});

test("refusals tell neither what was sent nor where anything lies", async () => {
  const c = await companion();
  const canary = "canary-7f3a";
  const values = fc.oneof(
    fc.json().map((json) => json.replaceAll('"', `"${canary}`)),
    fc.string().map((text) => `{"content":{"${text.replace(/[\\"\p{Cc}]/gu, "")}":"${canary}"}}`),
    fc.constant(`{"content":"${canary}`),
    fc.constant(`{"content":["${canary}"],"model":"${canary} x"}`),
  );
  const property = fc.asyncProperty(values, async (body) => {
    const response = await c.ask(messages, { method: "POST", body });
    assert.ok(response.status >= 400);
    const problem = JSON.parse(await response.text());
    // A field's name is the client's own, and helps; a value is what somebody said.
    const told = problem.detail.replaceAll(/"(?:[^"\\]|\\.)*"/g, "");
    assert.ok(!told.includes(canary), problem.detail);
    assert.doesNotMatch(JSON.stringify(problem), /\bat .*\.ts|node_modules|\/work\/|file:/);
  });
  await fc.assert(property, { numRuns: 50 });
});

test("a method that a path does not have is 405, with those that it has", async () => {
  for (const [method, path, allow] of [
    ["PUT", me, "GET, HEAD, DELETE"],
    ["POST", me, "GET, HEAD, DELETE"],
    ["OPTIONS", messages, "GET, HEAD, POST"],
    ["PATCH", `${messages}/x`, "DELETE"],
    ["GET", `${me}/stop`, "POST"],
    ["DELETE", "/api/chats", "GET, HEAD"],
    ["POST", "/", "GET, HEAD"],
    ["POST", "/api/openapi.json", "GET, HEAD"],
  ] as const) {
    const response = await shared.ask(path, { method });
    assert.equal(response.headers.get("allow"), allow);
    await problemOf(response, 405, "THROUGHLINE_METHOD_NOT_ALLOWED");
  }
});

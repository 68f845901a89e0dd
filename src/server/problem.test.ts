import assert from "node:assert/strict";
import { test } from "node:test";
import { companion } from "../../test/support/server-fixture.ts";
import { type ErrorCode, errorCodes, ThroughlineError } from "../core/errors.ts";
import { problem, problemOf, problemResponse, reportError } from "./problem.ts";

for (const code of Object.keys(errorCodes) as ErrorCode[]) {
  test(`${code} has its status, a title and words`, () => {
    const told = problemOf(new ThroughlineError("words of its own", { code }));
    assert.deepEqual([told.status, told.code], [errorCodes[code].status, code]);
    assert.ok(told.title !== "Error" && told.detail.length > 10);
  });
}

for (const message of [
  "cannot write /home/nova/.throughline/index.db",
  'no "/var/lib/x"',
  "(/etc/passwd)",
  "at C:\\Users\\nova",
  "/home/nova",
  "no module at file:///srv/app/x.js",
]) {
  test(`the message "${message}" is not told`, () => {
    const told = problemOf(new ThroughlineError(message, { code: "THROUGHLINE_INVALID" }));
    assert.equal(told.detail, errorCodes.THROUGHLINE_INVALID.says);
  });
}

for (const message of ["limit: must be 1/2", 'there is no chat "a/b"', "and/or"]) {
  test(`the message "${message}" is told`, () => {
    const told = problemOf(new ThroughlineError(message, { code: "THROUGHLINE_NOT_FOUND" }));
    assert.equal(told.detail, message);
  });
}

test("what storage says of its files is told in the code's own words", () => {
  for (const code of ["THROUGHLINE_CORRUPT", "THROUGHLINE_UNAVAILABLE"] as const) {
    const told = problemOf(new ThroughlineError("chats/telegram-42.jsonl:17", { code }));
    assert.equal(told.detail, errorCodes[code].says);
  }
});

for (const [code, length] of [
  ["THROUGHLINE_INVALID", 8_000],
  ["THROUGHLINE_MODEL_FAILED", 500],
] as const) {
  test(`a long message of ${code} is cut to ${length} characters`, () => {
    const error = new ThroughlineError("x".repeat(10_000), { code });
    assert.equal(problemOf(error).detail.length, length);
  });
}

test("an error that is not ours is a defect: the log has its place, the client its number", () => {
  const lines: object[] = [];
  const note = (fields: object) => lines.push(fields);
  const logger = { debug: note, info: note, warn: note, error: note };
  const error = new Error("canary: what somebody said");
  const told = reportError({ logger, newId: () => "id-7" }, error, { route: "/x", turnId: "t" });
  assert.deepEqual([told.status, told.code, told.turn_id], [500, "THROUGHLINE_INTERNAL", "t"]);
  assert.match(told.detail, /id-7/);
  assert.match(JSON.stringify(lines), /id-7.*problem\.test\.ts/);
  assert.doesNotMatch(JSON.stringify([told, lines]), /canary/);
});

for (const [code, name, value] of [
  ["THROUGHLINE_BUSY", "retry-after", "5"],
  ["THROUGHLINE_FENCED", "retry-after", "1"],
  ["THROUGHLINE_UNAVAILABLE", "retry-after", "1"],
  ["THROUGHLINE_OUTCOME_UNKNOWN", "retry-after", "1"],
  ["THROUGHLINE_INVALID", "retry-after", null],
  ["THROUGHLINE_UNAUTHORIZED", "www-authenticate", 'Bearer realm="throughline"'],
  ["THROUGHLINE_FORBIDDEN", "www-authenticate", null],
  ["THROUGHLINE_TOO_LARGE", "connection", "close"],
] as const) {
  test(`${code} answers ${name}: ${value}`, () => {
    assert.equal(problemResponse(problem(code)).headers.get(name), value);
  });
}

test("a logger that fails keeps no request from its answer, and nothing of its error is told", async () => {
  const fail = () => {
    throw new Error("Cannot read package config /srv/app/node_modules/pino/package.json (EMFILE)");
  };
  const logger = { debug: fail, info: fail, warn: fail, error: fail };
  const c = await companion([], { logger });
  c.throughline.chats.list = () => Promise.reject(new Error("EMFILE: open '/srv/app/chats'"));
  const { port } = await c.listen({ host: "127.0.0.1", port: 0 });
  const response = await fetch(`http://127.0.0.1:${port}/api/chats`);
  const text = await response.text();
  await c.server.close();
  assert.equal(response.headers.get("content-type"), "application/problem+json", text);
  assert.equal(JSON.parse(text).code, "THROUGHLINE_INTERNAL");
  assert.doesNotMatch(text, /srv|EMFILE|pino/);
});

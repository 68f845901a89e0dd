import assert from "node:assert/strict";
import { test } from "node:test";
import { companion } from "../../test/support/server-fixture.ts";
import { type ErrorCode, errorCodes, ThroughlineError } from "../core/errors.ts";
import { problem, problemOf, problemResponse, reportError } from "./problem.ts";

const told = (message: string, code: ErrorCode = "THROUGHLINE_INVALID") =>
  problemOf(new ThroughlineError(message, { code }));

test("every code has its status, a title and words", () => {
  for (const code of Object.keys(errorCodes) as ErrorCode[]) {
    const { status, title, detail, ...rest } = told("words of its own", code);
    assert.deepEqual([status, rest.code], [errorCodes[code].status, code]);
    assert.ok(title !== "Error" && detail.length > 10);
  }
});

test("a message that names a file of this machine is not told, and others are, up to a length", () => {
  for (const message of [
    "cannot write /home/nova/.throughline/index.db",
    'no "/var/lib/x"',
    "(/etc/passwd)",
    "at C:\\Users\\nova",
    "/home/nova",
    "no module at file:///srv/app/x.js",
  ]) {
    assert.equal(told(message).detail, errorCodes.THROUGHLINE_INVALID.says);
  }
  for (const message of ["limit: must be 1/2", 'there is no chat "a/b"', "and/or"]) {
    assert.equal(told(message).detail, message);
  }
  for (const code of ["THROUGHLINE_CORRUPT", "THROUGHLINE_UNAVAILABLE"] as const) {
    assert.equal(told("chats/telegram-42.jsonl:17", code).detail, errorCodes[code].says);
  }
  assert.equal(told("x".repeat(10_000)).detail.length, 8_000);
  assert.equal(told("x".repeat(10_000), "THROUGHLINE_MODEL_FAILED").detail.length, 500);
});

test("an error that is not ours is a defect: the log has its place, the client its number", () => {
  const lines: object[] = [];
  const note = (fields: object) => lines.push(fields);
  const logger = { debug: note, info: note, warn: note, error: note };
  const error = new Error("canary: what somebody said");
  const shown = reportError({ logger, newId: () => "id-7" }, error, { route: "/x", turnId: "t" });
  assert.deepEqual([shown.status, shown.code, shown.turn_id], [500, "THROUGHLINE_INTERNAL", "t"]);
  assert.match(shown.detail, /id-7/);
  assert.match(JSON.stringify(lines), /id-7.*problem\.test\.ts/);
  assert.doesNotMatch(JSON.stringify([shown, lines]), /canary/);
});

test("a problem has the headers of its code", () => {
  for (const [code, name, value] of [
    ["THROUGHLINE_BUSY", "retry-after", "5"],
    ["THROUGHLINE_UNAVAILABLE", "retry-after", "1"],
    ["THROUGHLINE_INVALID", "retry-after", null],
    ["THROUGHLINE_UNAUTHORIZED", "www-authenticate", 'Bearer realm="throughline"'],
    ["THROUGHLINE_TOO_LARGE", "connection", "close"],
  ] as const) {
    assert.equal(problemResponse(problem(code)).headers.get(name), value);
  }
});

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

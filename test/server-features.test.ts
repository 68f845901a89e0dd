// A server with every feature: how it is described, and which input it refuses.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { Validator } from "@seriousme/openapi-schema-validator";
import { everything } from "./support/everything.ts";
import { companion, problemOf } from "./support/server-fixture.ts";

const { version } = JSON.parse(readFileSync("package.json", "utf8")) as { version: string };
const committed = new URL("../api/openapi.json", import.meta.url);

test("the API's description is valid OpenAPI 3.1 and is the committed one", async () => {
  await using c = await everything({ version });
  const document = await c.get("/api/openapi.json");
  const { valid, errors } = await new Validator().validate(structuredClone(document));
  assert.ok(valid, JSON.stringify(errors));
  assert.equal(document.openapi, "3.1.0");
  const stored = readFileSync(committed, "utf8");
  const wanted = `${JSON.stringify(document, null, 2)}\n`;
  assert.ok(stored === wanted, "run: npm run generate");
});

test("every operation has an id of its own, and is there", async () => {
  await using c = await everything();
  const document = await c.get("/api/openapi.json");
  const ids: string[] = [];
  for (const [path, item] of Object.entries<Record<string, { operationId: string }>>(
    document.paths,
  )) {
    for (const [method, { operationId }] of Object.entries(item)) {
      ids.push(operationId);
      const url = path.replace("{id}", "nobody").replace("{message_id}", "nothing");
      const response = await c.ask(url, { method: method.toUpperCase() });
      await response.body?.cancel();
      assert.notEqual(response.status, 405, `${method} ${path}`);
    }
  }
  assert.equal(new Set(ids).size, ids.length);
});

test("a server without features has neither their routes nor a description of them", async () => {
  const served = async (c: { get(path: string): Promise<{ paths: object }> }) =>
    Object.keys((await c.get("/api/openapi.json")).paths);
  await using all = await everything();
  const c = await companion();
  const own = await served(c);
  const others = (await served(all)).filter((path) => !own.includes(path));
  assert.ok(others.length > 0);
  const groups = new Set(own.map((path) => /^\/(?:api\/)?([\w-]+)/.exec(path)?.[1]));
  const wanted = [
    "chats",
    "events",
    "healthz",
    "memory",
    "metrics",
    "models",
    "readyz",
    "search",
    "sign-in",
  ];
  assert.deepEqual([...groups].sort(), wanted);
  for (const path of others) {
    await problemOf(await c.ask(path), 404, "THROUGHLINE_NOT_FOUND");
    await problemOf(await c.post(path), 404, "THROUGHLINE_NOT_FOUND");
  }
});

test("input of a feature that cannot be used is refused with what is wrong", async () => {
  await using c = await everything();
  for (const [path, body, detail] of [
    ["/api/feedback/xyz", undefined, "name: must be the name of a package"],
    [
      "/api/feedback/2026-01-02T03-04-05_positive_fb_0123456789ab/xyz",
      undefined,
      "file: must be the name of a package's file",
    ],
    ["/api/touch", '{"level":3}', "level: must be 1 or 2"],
    ["/api/touch", '{"level":1,"chat_id":""}', "chat_id: must be at least 1 character"],
    [
      "/api/feedback",
      '{"sentiment":"positive","what":"a","post_roll_ms":1.5}',
      "post_roll_ms: must be a whole number",
    ],
    ["/api/feedback", '{"what":"a"}', "sentiment: must be positive or negative"],
    [
      "/api/feedback",
      `{"sentiment":"positive","what":"${"a".repeat(2_001)}","score":2}`,
      "what: must be at most 2000 characters; score: must be at most 1",
    ],
  ] as const) {
    const request = body === undefined ? {} : { method: "POST", body };
    const problem = await problemOf(await c.ask(path, request), 400, "THROUGHLINE_INVALID");
    assert.equal(problem.detail, detail);
  }
});

// Chats whose model is not configured, in the terminal and over HTTP.
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { fakeIo, postTo, runCli, serveHere, temporaryDirectory } from "./support/command-line.ts";
import { openAiServer } from "./support/openai-server.ts";
import { jsonOf, problemOf } from "./support/server-fixture.ts";

const ductor = join(import.meta.dirname, "golden/ductor/current.json");
const notice = "claude/opus is not configured here: the built-in responder answers until it is.";

test("a chat imported from ductor is answered in the terminal, which says once by what", async (t) => {
  const home = join(temporaryDirectory(t), "home");
  assert.equal((await runCli(["import", ductor, "--from", "ductor"], { home })).code, 0);
  const chat = () => runCli(["chat", "--chat", "telegram:42"], { home, io: fakeIo("Hello\n") });
  const first = await chat();
  assert.equal(first.code, 0);
  assert.ok(first.err.startsWith(`(${notice})\n`), first.err);
  assert.match(first.out, /built-in responder/);
  const second = await chat();
  assert.deepEqual([second.code, second.err], [0, ""]);
});

test("a server that is named by URL is never asked for the model of another one", async (t) => {
  const home = join(temporaryDirectory(t), "home");
  await using one = await openAiServer();
  await using two = await openAiServer();
  const chat = (model: string) => {
    const variables = { THROUGHLINE_MODEL: model };
    return runCli(["chat"], { home, variables, io: fakeIo("Hello\n") });
  };
  assert.equal((await chat(`${one.url}#one`)).code, 0);
  const { code, err } = await chat(`${two.url}#two`);
  assert.equal(code, 0);
  assert.match(
    err,
    /openai-compatible\/one is not configured here: openai-compatible\/two answers/,
  );
  // It is asked what it has, and told nothing.
  assert.deepEqual(
    two.requests.map(({ path, body }) => [path, body["model"]]),
    [
      ["/v1/models", undefined],
      ["/v1/chat/completions", "two"],
    ],
  );
  assert.equal((await chat(`${one.url}#one`)).code, 0);
  assert.deepEqual(
    one.requests.map(({ body }) => body["model"]),
    ["one", "one"],
  );
});

test("a key in the environment does not let a session or a request choose a provider", async (t) => {
  const home = join(temporaryDirectory(t), "home");
  await using cloud = await openAiServer();
  const variables = { OPENAI_API_KEY: "k", OPENAI_BASE_URL: cloud.url };
  await runCli(["chat"], {
    ...{ home, io: fakeIo("Hello\n") },
    variables: { ...variables, THROUGHLINE_MODEL: "openai/gpt" },
  });
  const before = cloud.requests.length;
  assert.ok(before > 0, "the chat runs on the cloud");
  const { url, stop } = await serveHere(t, home, ["--model", "offline"], variables);
  const say = (body: object) => postTo(url, "/api/chats/local%3Ame/messages", body);
  const answer = await jsonOf(await say({ content: "My secret" }), 200);
  assert.equal(answer.assistant.provider, "offline");
  await problemOf(
    await say({ content: "My secret", provider: "openai", model: "gpt" }),
    ...([400, "THROUGHLINE_INVALID"] as const),
  );
  assert.equal(cloud.requests.length, before);
  const { models } = await jsonOf(await fetch(`${url}/api/session`), 200);
  const standard = { provider: "offline", model: "offline" };
  assert.deepEqual(models, { standard, providers: ["offline"] });
  await stop();
});

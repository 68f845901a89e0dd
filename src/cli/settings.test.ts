import assert from "node:assert/strict";
import fs from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { temporaryDirectory } from "../../test/support/command-line.ts";
import { openMemories } from "../app/open-companion.ts";
import { silentLogger } from "../core/logger.ts";
import { parseModelName } from "../core/models/model-name.ts";
import { readEnvironment } from "./env.ts";
import { type Flags, resolveSettings } from "./settings.ts";

function settingsOf(
  t: TestContext,
  given: { config?: object; variables?: Record<string, string>; flags?: Flags },
) {
  const home = temporaryDirectory(t);
  const { config, variables = {}, flags = {} } = given;
  if (config) fs.writeFileSync(join(home, "throughline.config.json"), JSON.stringify(config));
  return resolveSettings({ ...flags, home }, readEnvironment(variables, home));
}

test("the capacity of working memories is as the file says, and 3 without it", async (t) => {
  for (const [config, capacity] of [
    [{ working_memory_capacity: 12 }, 12],
    [{}, 3],
  ] as const) {
    await using throughline = await openMemories(settingsOf(t, { config }), {
      logger: silentLogger,
    });
    assert.equal(throughline.workingMemory.of("a").stats().capacity, capacity);
  }
});

type Given = Parameters<typeof settingsOf>[1];
const url = (user: string) => `postgres://${user}@db/chats`;
const model = (name: string) => ({ flags: { model: parseModelName(`ollama/${name}`) } });
/** What a setting is, from the file alone, from the environment over the file, and from a flag over both. */
const places: readonly [
  name: string,
  file: Required<Given>["config"],
  environment: Required<Given>["variables"],
  flag: Flags,
  read: (settings: ReturnType<typeof resolveSettings>) => unknown,
  values: readonly unknown[],
][] = [
  [
    "the model",
    { model: "ollama/file" },
    { THROUGHLINE_MODEL: "ollama/env" },
    model("flag").flags,
    (settings) => settings.model?.model,
    ["file", "env", "flag"],
  ],
  [
    "the store",
    { store: url("file") },
    { THROUGHLINE_STORE: url("env") },
    { store: url("flag") },
    (settings) => settings.store?.says,
    ["file", "env", "flag"].map((user) => `${url(user)}?companion=default`),
  ],
  [
    "the window of the model",
    { window: 4_096 },
    { THROUGHLINE_WINDOW: "8192" },
    { window: 16_384 },
    (settings) => settings.window,
    [4_096, 8_192, 16_384],
  ],
  ["the port", { port: 1 }, { PORT: "2" }, { port: 3 }, (settings) => settings.port, [1, 2, 3]],
  [
    "the file of the token",
    { token_file: "a" },
    { THROUGHLINE_TOKEN_FILE: "b" },
    { tokenFile: "c" },
    (settings) => settings.tokenFile,
    ["a", "b", "c"],
  ],
];
test("a setting comes from a flag, over the environment, over the file", (t) => {
  for (const [name, config, variables, flags, read, values] of places) {
    const given = [{}, { config }, { config, variables }, { config, variables, flags }];
    const found = given.map((each) => read(settingsOf(t, each)));
    assert.deepEqual(found, [undefined, ...values], name);
  }
  const variables = { THROUGHLINE_STORE: url("env") };
  for (const flags of [{ store: "files" }, { ephemeral: true }]) {
    assert.equal(settingsOf(t, { variables, flags }).store, undefined);
  }
});

test("keys alone allow no provider; named models allow theirs, and the file may list more", (t) => {
  const variables = { THROUGHLINE_MODEL: "anthropic/claude" };
  const named = { config: { model: "openai/gpt" }, variables, ...model("flag") };
  for (const [given, providers] of [
    [{ variables: { OPENAI_API_KEY: "k" } }, []],
    [named, ["openai", "anthropic"]],
    [{ config: { providers: ["bedrock", "ollama"] } }, ["ollama", "bedrock"]],
  ] as const) {
    assert.deepEqual(settingsOf(t, given).allowed, providers);
  }
});

test("a store that is no URL is refused with the place where it stands, and not repeated", (t) => {
  const refused = (given: Given, place: RegExp) =>
    assert.throws(
      () => settingsOf(t, given),
      (error: Error & { code: string }) => {
        assert.equal(error.code, "THROUGHLINE_CONFIGURATION");
        assert.match(error.message, place);
        assert.doesNotMatch(error.message, /secret/);
        return true;
      },
    );
  const store = "postgres://me:secret@host:port/db";
  refused({ variables: { THROUGHLINE_STORE: store } }, /^THROUGHLINE_STORE must be a URL/);
  refused({ config: { store } }, /throughline\.config\.json: store must be a URL/);
  refused({ flags: { store: "./secret" } }, /^--store must be a URL/);
});

test("a model that is no name is refused with the place where it stands", (t) => {
  const code = "THROUGHLINE_CONFIGURATION";
  assert.throws(() => settingsOf(t, { variables: { THROUGHLINE_MODEL: "gpt" } }), {
    code,
    message: /^THROUGHLINE_MODEL: /,
  });
  assert.throws(() => settingsOf(t, { config: { model: "gpt" } }), {
    code,
    message: /throughline\.config\.json: model: /,
  });
});

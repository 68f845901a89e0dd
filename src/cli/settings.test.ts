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
  given: { config?: object; persona?: string; variables?: Record<string, string>; flags?: Flags },
) {
  const home = temporaryDirectory(t);
  const { config, persona, variables = {}, flags = {} } = given;
  if (config) fs.writeFileSync(join(home, "throughline.config.json"), JSON.stringify(config));
  if (persona !== undefined) fs.writeFileSync(join(home, "persona.md"), persona);
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

const model = (name: string) => ({ flags: { model: parseModelName(`ollama/${name}`) } });
const models: readonly [
  from: string,
  given: Parameters<typeof settingsOf>[1],
  name: string | undefined,
][] = [
  ["nothing", {}, undefined],
  ["the file", { config: { model: "ollama/file" } }, "file"],
  [
    "the environment, over the file",
    { config: { model: "ollama/file" }, variables: { THROUGHLINE_MODEL: "ollama/env" } },
    "env",
  ],
  [
    "the flag, over the environment and the file",
    {
      config: { model: "ollama/file" },
      variables: { THROUGHLINE_MODEL: "ollama/env" },
      ...model("flag"),
    },
    "flag",
  ],
];
for (const [from, given, name] of models) {
  test(`the model comes from ${from}`, (t) => {
    assert.equal(settingsOf(t, given).model?.model, name);
  });
}

const allowed: readonly [
  what: string,
  given: Parameters<typeof settingsOf>[1],
  providers: readonly string[],
][] = [
  ["keys alone allow no provider", { variables: { OPENAI_API_KEY: "k" } }, []],
  [
    "the models of the file and of the environment allow theirs, also where a flag goes before",
    {
      config: { model: "openai/gpt" },
      variables: { THROUGHLINE_MODEL: "anthropic/claude" },
      ...model("flag"),
    },
    ["openai", "anthropic"],
  ],
  [
    "the file may list more",
    { config: { providers: ["bedrock", "ollama"] } },
    ["ollama", "bedrock"],
  ],
];
for (const [what, given, providers] of allowed) {
  test(what, (t) => {
    assert.deepEqual(settingsOf(t, given).allowed, providers);
  });
}

const url = (user: string) => `postgres://${user}@db/chats`;
const stores: readonly [
  from: string,
  given: Parameters<typeof settingsOf>[1],
  says: string | undefined,
][] = [
  ["nothing: the home", {}, undefined],
  ["the file", { config: { store: url("file") } }, "file"],
  [
    "the environment, over the file",
    { config: { store: url("file") }, variables: { THROUGHLINE_STORE: url("env") } },
    "env",
  ],
  [
    "the flag, over the environment",
    { variables: { THROUGHLINE_STORE: url("env") }, flags: { store: url("flag") } },
    "flag",
  ],
  [
    "the flag, where it says files: the home",
    { variables: { THROUGHLINE_STORE: url("env") }, flags: { store: "files" } },
    undefined,
  ],
  [
    "nothing, where nothing is kept",
    { variables: { THROUGHLINE_STORE: url("env") }, flags: { ephemeral: true } },
    undefined,
  ],
];
for (const [from, given, user] of stores) {
  test(`the store comes from ${from}`, (t) => {
    const says = user && `${url(user)}?companion=default`;
    assert.equal(settingsOf(t, given).store?.says, says);
  });
}

test("a store that is no URL is refused with the place where it stands, and not repeated", (t) => {
  const refused = (given: Parameters<typeof settingsOf>[1], place: RegExp) =>
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

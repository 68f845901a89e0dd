import assert from "node:assert/strict";
import fs from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { temporaryDirectory } from "../../test/command-line.ts";
import { builtInPersona } from "../runtime/persona.ts";
import { parseModelName } from "../runtime/responders/model-name.ts";
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
      ...{ config: { model: "ollama/file" }, variables: { THROUGHLINE_MODEL: "ollama/env" } },
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

const personas: readonly [from: string, given: Parameters<typeof settingsOf>[1], text: string][] = [
  ["what is built in", {}, builtInPersona],
  ["the file's persona", { config: { persona: "You are Nova." } }, "You are Nova."],
  [
    "persona.md, over the configuration",
    { config: { persona: "You are Nova." }, persona: "\nYou are Ada.\n" },
    "You are Ada.",
  ],
  ["what is built in, where persona.md is blank", { persona: " \n" }, builtInPersona],
];
for (const [from, given, text] of personas) {
  test(`the persona is ${from}`, (t) => assert.equal(settingsOf(t, given).persona, text));
}

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

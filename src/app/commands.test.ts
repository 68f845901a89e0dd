import assert from "node:assert/strict";
import { test } from "node:test";
import { Command } from "../cli/command.ts";
import { type Environment, readEnvironment } from "../cli/env.ts";
import { processIo } from "../cli/io.ts";
import { commandsFor } from "./commands.ts";
import type { ProgramContext } from "./feature.ts";
import { features } from "./features.ts";

const env: Environment = readEnvironment();
const context: ProgramContext = {
  io: processIo(),
  env,
  version: "1.2.3",
  openMemories: () => Promise.reject(new Error("help opens nothing")),
  withRoutes: () => Promise.reject(new Error("help opens nothing")),
  openForTools: () => Promise.reject(new Error("help opens nothing")),
};
const added = features.flatMap(({ commands = {} }) => Object.keys(commands));
const last = ["backup", "restore", "doctor", "completion", "complete"];
const all = ["serve", "chat", "sessions", ...added, ...last];

function namesFor(args: readonly string[]): readonly string[] {
  const program = new Command();
  for (const add of commandsFor(args)) add(program, context);
  return program.commands.map((command) => command.name());
}

for (const name of all.filter((each) => each !== "complete")) {
  test(`a line that begins with ${name} makes that command and no other`, () => {
    assert.deepEqual(namesFor([name, "--help"]), [name]);
  });
}
for (const args of [
  [],
  ["--help"],
  ["help", "serve"],
  ["serv"],
  ["-V"],
  ["--home", "serve"],
  ["complete", "--", "throughline", "x"],
]) {
  test(`a line that begins as [${args.join(" ")}] knows every command, in the order of the help`, () => {
    assert.deepEqual(namesFor(args), all);
  });
}

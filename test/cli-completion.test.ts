// What a real shell makes of the scripts that `throughline completion` prints.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import { delimiter, join } from "node:path";
import { type TestContext, test } from "node:test";
import { runCli, temporaryDirectory, variablesFor } from "./support/command-line.ts";
import { program } from "./support/program.ts";
import { skipWithout, Terminal } from "./support/terminal.ts";

/**
 * A folder with files, a completion script, and a folder for PATH whose `throughline` prints its arguments, but asks the real one what completes.
 */
async function place(t: TestContext, shell: string) {
  const folder = temporaryDirectory(t);
  const home = join(folder, "home");
  const { code, out } = await runCli(["completion", shell], { home });
  assert.equal(code, 0);
  fs.writeFileSync(join(folder, "script"), out);
  fs.mkdirSync(join(folder, "bin"));
  fs.mkdirSync(join(folder, "drawer one"));
  fs.writeFileSync(join(folder, "drawing.md"), "");
  const node = `'${process.execPath}' '${program}'`;
  fs.writeFileSync(
    join(folder, "bin/throughline"),
    `#!/bin/sh\n[ "$1" = complete ] && exec ${node} "$@"\nprintf '[%s]' "$@"\nprintf '!\\n'\n`,
    { mode: 0o755 },
  );
  const path = [join(folder, "bin"), process.env["PATH"]].join(delimiter);
  const env = { ...variablesFor(home), HOME: folder, PATH: path, TERM: "dumb", LC_ALL: "C.UTF-8" };
  // A bash whose terminal was killed would write its history while the folder is removed.
  return { folder, home, env: { ...env, HISTFILE: "" } };
}

/** A shell that has loaded the script. */
async function shellAt(t: TestContext, command: string, start: string) {
  const { folder, env } = await place(t, command.split(" ")[0] ?? "");
  const shell = new Terminal(t, command, { cwd: folder, env });
  shell.type(`${start}source ./script; PS1='> '; throughline ready\n`);
  await shell.out.has(/^\[ready\]!/m);
  /** @returns what the program was given by a line, whose tabs complete. */
  return async (line: string) => {
    const from = shell.out.text.length;
    shell.type(`throughline ${line}\n`);
    await shell.out.has(/\]!\r?\n/, from);
    return /(\[[^\n]*)!\r?\n/.exec(shell.out.text.slice(from))?.[1];
  };
}

test("commands, options, their values and files are completed", async (t) => {
  const { home } = await place(t, "fish");
  for (const [line, words] of [
    ["sess", ["sessions"]],
    ["sessions li", ["list"]],
    ["list", []],
    ["sessions export --form", ["--format"]],
    ["sessions export --format ", ["jsonl", "markdown", "html"]],
    ["sessions show ", []],
    ["sessions export work --out draw", ["<file>"]],
    ["restore draw", ["<directory>"]],
    ["feedback export --sentiment p", ["positive"]],
    ["completion fi", ["fish"]],
    ["serve ses", []],
    ["serve --port ", []],
  ] as const) {
    const args = ["complete", "--", "throughline", ...line.split(" ")];
    const { out } = await runCli(args, { home });
    const offered = out.split("\n").flatMap((each) => each.split("\t")[0] || []);
    assert.deepEqual(offered, words, line);
  }
});

/** What is left to a shell: words one after the other, files and folders. */
const lines: readonly [typed: string, given: string][] = [
  ["sess\tli\t", "[sessions][list]"],
  ["sessions export work --out drawi\t", "[sessions][export][work][--out][drawing.md]"],
  ["restore drawer\t", "[restore][drawer one]"],
  ["--home=/nowhere sess\tli\t", "[--home=/nowhere][sessions][list]"],
];

for (const [shell, command, start] of [
  ["bash", "bash --norc --noprofile -i", ""],
  ["zsh", "zsh -f -i", "autoload -U compinit && compinit -u -D; "],
] as const) {
  test(`${shell} completes what is offered, and files`, {
    skip: skipWithout("script", shell),
    timeout: 120_000,
  }, async (t) => {
    const given = await shellAt(t, command, start);
    for (const [typed, expected] of lines) {
      // zsh takes the slash of a folder back.
      assert.equal((await given(typed))?.replace("/]", "]"), expected, JSON.stringify(typed));
    }
  });
}

test("fish completes what is offered, and files", {
  skip: skipWithout("fish"),
}, async (t) => {
  const { folder, env } = await place(t, "fish");
  const complete = (line: string) => {
    const said = execFileSync(
      "fish",
      ["--no-config", "-c", `source ./script; complete -C '${line}'`],
      { cwd: folder, env, encoding: "utf8" },
    );
    return said.split("\n").flatMap((each) => each.split("\t")[0] || []);
  };
  for (const [line, words] of [
    ["throughline sess", ["sessions"]],
    ["throughline list", []],
    ["throughline sessions export work --out draw", ["drawer one/", "drawing.md"]],
    ["throughline restore draw", ["drawer one/"]],
  ] as const) {
    assert.deepEqual(complete(line), words, line);
  }
});

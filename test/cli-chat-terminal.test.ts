// `throughline chat` at a terminal: how an answer looks.
import assert from "node:assert/strict";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { stripVTControlCharacters } from "node:util";
import { Process, temporaryDirectory, variablesFor } from "./support/command-line.ts";
import { openAiServer } from "./support/openai-server.ts";
import { compileCache, program } from "./support/program.ts";
import { skipWithout, Terminal } from "./support/terminal.ts";

const skip = skipWithout("script");
const answer = "A **red** one, see `lamp`. \u001b]0;evil\u0007\u001b[2J\u009b31m\n\n# End";
const harmless = "A **red** one, see `lamp`. ]0;evil[2J31m";

/** A text with its control characters as pictures, but for line feeds; bold that ends where it begins is whole. */
function visible(text: string): string {
  const pictures = text.replace(/(?!\n)\p{Cc}/gu, (character) => {
    const code = character.charCodeAt(0);
    return code < 32 ? String.fromCharCode(0x2400 + code) : "?";
  });
  return pictures.replaceAll("␛[22m␛[1m", "");
}

/** Asks at a terminal. @returns what it shows from then until the next prompt. */
async function talk(t: TestContext, variables: Readonly<Record<string, string>>): Promise<string> {
  const home = join(temporaryDirectory(t), "home");
  const server = await openAiServer(() => ({ text: answer }));
  t.after(server.close);
  const env = {
    ...{ HOME: join(home, ".."), PATH: process.env["PATH"], NODE_COMPILE_CACHE: compileCache },
    ...variablesFor(home, { TERM: "xterm-256color", ...variables }),
  };
  const command = `'${process.execPath}' '${program}' chat --model '${server.url}#m'`;
  const terminal = new Terminal(t, command, { env });
  const { out } = terminal;
  await out.has("> ");
  const from = out.text.length;
  terminal.type("Where?\r");
  await out.has(/End.*> /s, from);
  return visible(out.text.slice(from));
}

const [bold, code] = ["␛[1m**red**␛[22m", "␛[36m`lamp`␛[39m"];
const styled = harmless.replace("**red**", bold).replace("`lamp`", code);

for (const [says, variables, shown] of [
  ["a terminal gets bold words and code with styles", {}, styled],
  ["NO_COLOR takes the styles", { NO_COLOR: "1" }, harmless],
] as const) {
  test(`${says}, and no control characters of an answer`, { skip, timeout: 120_000 }, async (t) => {
    const all = await talk(t, variables);
    assert.ok(all.includes(`${shown}␍\n␍\n# End␍\n`), all);
    if (shown === harmless) assert.doesNotMatch(all, /␛\[\d+m/);
  });
}

test("a file gets the Markdown as it is, and styles only where FORCE_COLOR asks for them", async (t) => {
  const home = join(temporaryDirectory(t), "home");
  await using server = await openAiServer(() => ({ text: answer }));
  const said = async (variables: Readonly<Record<string, string>>) => {
    const args = ["chat", "--model", `${server.url}#m`];
    const { code, out, err } = await new Process(t, args, { home, variables }).ended("Where?\n");
    assert.deepEqual({ code, err }, { code: 0, err: "" });
    return out;
  };
  const plain = `${harmless}\n\n# End\n`;
  const forced = await said({ FORCE_COLOR: "1" });
  assert.ok(visible(forced).includes("␛[1m**red**␛[22m"), visible(forced));
  assert.equal(stripVTControlCharacters(forced), plain);
});

// `throughline chat` at a terminal: what is shown while the model has not begun, and how its answer looks.
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

/** Talks at a terminal with a model that begins when `begin` is called. */
async function talk(t: TestContext, variables: Readonly<Record<string, string>>) {
  const home = join(temporaryDirectory(t), "home");
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
  const server = await openAiServer(async () => {
    await begun;
    return { text: answer };
  });
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
  const until = async (...words: readonly string[]) => {
    for (const each of words) await out.has(each, from);
    // The next prompt.
    if (words.includes("End")) await out.has(/End.*> /s, from);
    return visible(out.text.slice(from));
  };
  return { begin, until, requests: server.requests };
}

const spinning = /[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]/u;
const erased = "␍␛[K␍";

test("at a terminal the seconds pass until the model begins, then nothing is left of them, and the answer has styles", {
  skip,
  timeout: 120_000,
}, async (t) => {
  const { begin, until } = await talk(t, {});
  const waiting = await until("1 s");
  assert.match(waiting, /␍␛\[36m⠋␛\[39m 0 s␛\[K␍/u);
  begin();
  const all = await until("End");
  const text = all.slice(all.lastIndexOf(erased));
  assert.doesNotMatch(text, spinning);
  const expected = harmless
    .replace("**red**", "␛[1m**red**␛[22m")
    .replace("`lamp`", "␛[36m`lamp`␛[39m");
  assert.ok(text.startsWith(`${erased}${expected}␍\n␍\n# End␍\n`), text);
});

test("NO_COLOR takes the styles and leaves the seconds", { skip, timeout: 120_000 }, async (t) => {
  const { begin, until } = await talk(t, { NO_COLOR: "1" });
  assert.match(await until(" 0 s"), /␍⠋ 0 s␛\[K␍/u);
  begin();
  const all = await until("End");
  assert.ok(all.includes(`${erased}${harmless}␍\n␍\n# End␍\n`), all);
  assert.doesNotMatch(all, /␛\[\d+m/);
});

test("a dumb terminal gets neither seconds nor styles", { skip, timeout: 120_000 }, async (t) => {
  const { begin, until, requests } = await talk(t, { TERM: "dumb" });
  while (requests.length === 0) await new Promise((resolve) => setTimeout(resolve, 50));
  // Three frames' time.
  await new Promise((resolve) => setTimeout(resolve, 300));
  begin();
  const all = await until("End");
  assert.ok(all.includes(`${harmless}␍\n␍\n# End␍\n`), all);
  assert.doesNotMatch(all, spinning);
  assert.doesNotMatch(all, /␛\[\d+m/);
});

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
  assert.equal(await said({ TERM: "xterm-256color" }), plain);
  const forced = await said({ FORCE_COLOR: "1" });
  assert.ok(visible(forced).includes("␛[1m**red**␛[22m"), visible(forced));
  assert.equal(stripVTControlCharacters(forced), plain);
});

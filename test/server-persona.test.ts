// The persona and the facts over HTTP: read, edited, and used by the next answer.
import assert from "node:assert/strict";
import fs from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { builtInPersona, HomePersona } from "../src/app/home-persona.ts";
import { personaRoutes } from "../src/app/persona-routes.ts";
import { FactsFile } from "../src/companion/commands/facts-file.ts";
import { silentLogger } from "../src/core/logger.ts";
import { awakeCompanion } from "./support/awake.ts";
import { temporaryDirectory } from "./support/command-line.ts";
import { jsonOf, me, problemOf } from "./support/server-fixture.ts";

async function served(
  t: TestContext,
  script: readonly string[] = [],
  { isEphemeral = false }: { readonly isEphemeral?: boolean } = {},
) {
  const home = temporaryDirectory(t);
  const given = { home, isEphemeral, persona: undefined };
  const persona = new HomePersona(given, silentLogger);
  const c = await awakeCompanion(
    script.map((text) => [text]),
    {
      persona: () => persona.text(),
      facts: new FactsFile(home, silentLogger, !isEphemeral),
      features: [personaRoutes(persona)],
    },
  );
  t.after(() => c.throughline.close());
  return { ...c, home, instructions: () => c.model.requests.at(-1)?.instructions ?? "" };
}

test("a persona and a fact that are written over HTTP are in the next request, and the prompt shows them", async (t) => {
  const c = await served(t, ["One.", "Two."]);
  const first = await c.get("/api/persona");
  assert.equal(first.persona, builtInPersona);
  assert.deepEqual([first.source, first.version, first.editable], ["built-in", "", true]);
  const set = { persona: "You are Nova.", version: first.version };
  const nova = await jsonOf(await c.post("/api/persona", set), 200);
  assert.deepEqual([nova.persona, nova.source], ["You are Nova.", "file"]);
  const none = await c.get("/api/facts");
  assert.deepEqual([none.facts, none.lines, none.tokens], ["", [], 0]);
  const facts = { facts: "Likes tea.\r\nHas a dog.", version: none.version };
  const two = await jsonOf(await c.post("/api/facts", facts), 200);
  assert.equal(two.facts, "Likes tea.\nHas a dog.\n");
  const lines = two.lines.map(({ text, used }: { text: string; used: string }) => [text, used]);
  assert.deepEqual(lines, [
    ["Likes tea.", "whole"],
    ["Has a dog.", "whole"],
  ]);
  const prompt = await c.get(`${me}/prompt?content=Hello`);
  await c.say("Hello");
  assert.match(
    c.instructions(),
    /^You are Nova\.\n\n.*\n.*\n {2}"Likes tea\."\n {2}"Has a dog\."\n/,
  );
  const [persona, remembered] = prompt.sections;
  assert.equal(`${persona.text}\n\n${remembered.text}`, c.instructions());
  assert.deepEqual([prompt.window, prompt.ends, prompt.resumes], [null, "nothing", false]);
  // Back to the default, and a fact less.
  const back = await jsonOf(
    await c.post("/api/persona", { persona: null, version: nova.version }),
    200,
  );
  assert.deepEqual([back.persona, back.source], [builtInPersona, "built-in"]);
  await c.post("/api/facts", { facts: " ", version: two.version });
  assert.deepEqual(fs.readdirSync(c.home), []);
  await c.say("And now?");
  assert.equal(c.instructions(), builtInPersona);
});

test("an edit that does not know of another one is refused, and loses nothing", async (t) => {
  const c = await served(t);
  const { version } = await c.get("/api/persona");
  fs.writeFileSync(join(c.home, "persona.md"), "By hand.");
  fs.writeFileSync(join(c.home, "facts.md"), "By hand.");
  for (const [path, body] of [
    ["/api/persona", { persona: "Mine.", version }],
    ["/api/persona", { persona: null, version }],
    ["/api/facts", { facts: "Mine.", version: "" }],
  ] as const) {
    const { detail } = await problemOf(await c.post(path, body), 409, "THROUGHLINE_CONFLICT");
    assert.match(detail, /\.md was changed since it was read/);
  }
  for (const name of ["persona.md", "facts.md"]) {
    assert.equal(fs.readFileSync(join(c.home, name), "utf8"), "By hand.");
  }
});

test("input that cannot be used is refused with what is wrong", async (t) => {
  const c = await served(t);
  const large = "x".repeat(64 * 1024 + 1);
  for (const [path, body, status, code] of [
    ["/api/persona", { persona: " ", version: "" }, 400, "THROUGHLINE_INVALID"],
    ["/api/persona", { persona: "x" }, 400, "THROUGHLINE_INVALID"],
    ["/api/persona", { persona: large, version: "" }, 413, "THROUGHLINE_TOO_LARGE"],
    ["/api/facts", { facts: large, version: "" }, 413, "THROUGHLINE_TOO_LARGE"],
    ["/api/facts", { facts: 1, version: "" }, 400, "THROUGHLINE_INVALID"],
  ] as const) {
    await problemOf(await c.post(path, body), status, code);
  }
  await problemOf(
    await c.ask(`${me}/prompt?content=${"x".repeat(8_001)}`),
    400,
    "THROUGHLINE_INVALID",
  );
  assert.deepEqual(fs.readdirSync(c.home), []);
});

test("a file that cannot be used is reported without its folder, and is not replaced", async (t) => {
  const c = await served(t);
  for (const name of ["persona", "facts"]) {
    const path = join(c.home, `${name}.md`);
    fs.writeFileSync(path, new Uint8Array([0xff]));
    const { problem, version } = await c.get(`/api/${name}`);
    assert.equal(problem, `${name}.md is not UTF-8`);
    const response = await c.post(`/api/${name}`, { [name]: "Mine.", version });
    const { detail } = await problemOf(response, 409, "THROUGHLINE_CONFLICT");
    assert.equal(detail, `${name}.md is not UTF-8. Correct the file by hand`);
    assert.equal(fs.statSync(path).size, 1);
  }
});

test("a server that keeps nothing shows both, and edits neither", async (t) => {
  const c = await served(t, [], { isEphemeral: true });
  for (const name of ["persona", "facts"]) {
    assert.equal((await c.get(`/api/${name}`)).editable, false);
    const response = await c.post(`/api/${name}`, { [name]: "Mine.", version: "" });
    const { detail } = await problemOf(response, 409, "THROUGHLINE_CONFLICT");
    assert.match(detail, /keeps nothing/);
  }
  assert.deepEqual(fs.readdirSync(c.home), []);
});

test("facts past 4,000 characters are shown as not used, and are not in the prompt", async (t) => {
  const c = await served(t);
  const facts = ["a", "b", "c", "d"].map((letter) => letter.repeat(1_500)).join("\n");
  const { lines } = await jsonOf(await c.post("/api/facts", { facts, version: "" }), 200);
  const used = lines.map((line: { used: string }) => line.used);
  assert.deepEqual(used, ["whole", "whole", "part", "no"]);
  const { sections } = await c.get(`${me}/prompt`);
  const { text } = sections.find(({ name }: { name: string }) => name === "facts");
  assert.match(text, /"a{1500}"\n {2}"b{1500}"\n {2}"c{900,1000}…"\n/);
  assert.doesNotMatch(text, /d{5}/);
});

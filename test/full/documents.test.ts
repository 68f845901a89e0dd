// Every program of README and docs, in a folder that a reader makes as the page says: `npm init -y`, the package
// that `npm pack` makes, the file name that the program begins with, and `node` on it.
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { text as textOf } from "node:stream/consumers";
import { after, before, describe, test } from "node:test";
import { conversationRoutes } from "../../src/adapters/openai/routes.ts";
import { blocks, examples } from "../support/document-blocks.ts";
import { installPacked, packClone, strangersEnv } from "../support/packed.ts";
import { type Companion, companion } from "../support/server-fixture.ts";

const root = join(import.meta.dirname, "../..");
const limitMs = 30_000;
const shownElsewhere = new Set(examples.values());
const programs = blocks.filter(({ language, text }) => {
  const isRun = !text.includes("// not run") && !shownElsewhere.has(`${text}\n`);
  return /^(ts|js)$/.test(language) && isRun;
});

/** Ignores how it is broken into lines. */
const squeezed = (text: string) => text.replaceAll(/\s/g, "");

/** Returns what the comments behind `console.log` say that it prints, up to a colon or comma; "…" is anything. */
function printedBy(program: string): readonly string[] {
  const comments = program.matchAll(/console\.log\(.*\); \/\/ (.+)$/gm);
  return [...comments].flatMap(([, said = ""]) => {
    const value = /^[[{]/.test(said) ? said : (said.split(/[:,] (?!\d)/, 1)[0] ?? "");
    return value.split("…").map(squeezed);
  });
}

describe("programs in documents", () => {
  const place = fs.mkdtempSync(join(tmpdir(), "throughline-documents-"));
  const reader = join(place, "reader");
  const home = join(reader, "homes");
  let served: Companion;
  let url: string;

  before(async () => {
    installPacked(reader, join(place, packClone(place).filename));
    for (const name of fs.readdirSync(join(root, "node_modules"))) {
      const own = join(reader, "node_modules", name);
      if (name.startsWith(".") || fs.existsSync(own)) continue;
      fs.symlinkSync(join(root, "node_modules", name), own);
    }
    fs.mkdirSync(home);
    served = await companion([], { features: [conversationRoutes()] });
    url = (await served.listen({ host: "127.0.0.1", port: 0 })).url;
  });
  after(async () => {
    await served.server.close();
    fs.rmSync(place, { recursive: true, force: true });
  });

  /** Saves a program as its page says, in the folder of that page. @returns where. */
  function saved(file: string, text: string): string {
    const name = /^\/\/ ([\w-]+\.m[tj]s)\n/.exec(text)?.[1] ?? assert.fail("it has no file name");
    const path = join(reader, file.replaceAll(/\W/g, "-"), name);
    fs.mkdirSync(dirname(path), { recursive: true });
    fs.writeFileSync(path, text.replaceAll('"/tmp/', `"${home}/`));
    return path;
  }

  function start(path: string): ChildProcess {
    const child = spawn(process.execPath, [path], {
      cwd: dirname(path),
      env: { ...strangersEnv(), TMPDIR: home, THROUGHLINE_URL: url },
      timeout: limitMs,
      killSignal: "SIGKILL",
    });
    return child;
  }

  for (const { file, line, text } of programs) {
    test(`the program at ${file}:${line} runs to its end and prints what it says`, async () => {
      const child = start(saved(file, text));
      child.stdin?.end("The boat leaves at nine.\n");
      const { stdout, stderr } = child;
      const ended = once(child, "close");
      const [out, errors] = await Promise.all([textOf(stdout!), textOf(stderr!)]);
      assert.deepEqual(await ended, [0, null], errors);
      for (const said of printedBy(text)) {
        assert.ok(squeezed(out).includes(said), `no ${said} in:\n${out}`);
      }
    });
  }

  test("the first program, killed and run again, still has what was said", async () => {
    const first = programs.find(({ file }) => file === "README.md") ?? assert.fail("no program");
    const path = saved("killed", first.text);
    for (const expected of ["2 messages so far", "4 messages so far"]) {
      const child = start(path);
      const ended = once(child, "close");
      child.stdin?.write("The boat leaves at nine.\n"); // it waits for more, and is killed
      let out = "";
      for await (const text of child.stdout!.setEncoding("utf8")) {
        out += text;
        if (out.includes("messages so far")) child.kill("SIGKILL");
      }
      assert.deepEqual(await ended, [null, "SIGKILL"]);
      assert.ok(out.includes(expected), out);
    }
  });
});

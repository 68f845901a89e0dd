// What a stranger gets: the packed package, installed in an empty folder, which brings nothing else.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import { builtinModules } from "node:module";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { text as textOf } from "node:stream/consumers";
import { after, before, describe, type TestContext, test } from "node:test";
import sharp from "sharp";
import { consentWording } from "../../src/moments/record/consent.ts";
import { openAiServer } from "../support/openai-server.ts";
import { installPacked, type Packed, packClone, run } from "../support/packed.ts";

const root = join(import.meta.dirname, "../..");
const tools = join(root, "node_modules/.bin");
const own = JSON.parse(fs.readFileSync(join(root, "package.json"), "utf8")) as {
  readonly version: string;
  readonly peerDependencies: Record<string, string>;
  readonly peerDependenciesMeta: Record<string, { readonly optional?: boolean }>;
  readonly exports: Record<string, unknown>;
};
const entries = Object.keys(own.exports)
  .filter((entry) => !entry.endsWith(".json"))
  .map((entry) => `throughline${entry.slice(1)}`);

describe("the package", () => {
  const place = fs.mkdtempSync(join(tmpdir(), "throughline-package-"));
  /** An empty folder, before. */
  const installed = join(place, "installed");
  const packages = join(installed, "node_modules");
  const contents = join(packages, "throughline");
  let packed: Packed;
  let tarball: string;

  before(() => {
    packed = packClone(place);
    tarball = join(place, packed.filename);
    installPacked(installed, tarball);
  });
  after(() => fs.rmSync(place, { recursive: true, force: true }));

  test("holds what was built, its documents and nothing else", (t) => {
    t.diagnostic(`${packed.files.length} files, ${packed.unpackedSize} bytes unpacked`);
    const expected =
      /^(dist|docs|api)\/|^(package\.json|LICENSE|(README|CHANGELOG|ARCHITECTURE|CONTRIBUTING|SECURITY)\.md)$/;
    const paths = packed.files.map(({ path }) => path);
    assert.deepEqual(
      paths.filter((path) => !expected.test(path) || /\.test\.|\.tmp-/.test(path)),
      [],
    );
    for (const path of [
      "dist/index.js",
      "dist/index.d.ts",
      "dist/app/main.js",
      "dist/web/index.html",
      "dist/THIRD-PARTY-NOTICES.txt",
      "README.md",
      "LICENSE",
    ]) {
      assert.ok(paths.includes(path), path);
    }
    // A third is code of other packages, which once were 44 packages and 42 MB beside this one.
    assert.ok(packed.unpackedSize < 8 * 1024 * 1024, `${packed.unpackedSize} bytes`);
  });

  test("every link in its documents leads to a file of it", () => {
    const broken = packed.files.flatMap(({ path }) => {
      if (!path.endsWith(".md")) return [];
      const text = fs.readFileSync(join(contents, path), "utf8");
      const targets = Array.from(
        text.matchAll(/\]\(([^)#\s]+)[^)]*\)/g),
        ([, target = ""]) => target,
      );
      return targets
        .filter((target) => !/^[a-z]+:/.test(target))
        .filter((target) => !fs.existsSync(join(contents, path, "..", target)))
        .map((target) => `${path} -> ${target}`);
    });
    assert.deepEqual(broken, []);
  });

  test("is installed as one package, without the registry", () => {
    const names = fs.readdirSync(packages).filter((name) => !name.startsWith("."));
    assert.deepEqual(names, ["throughline"]);
    assert.equal("dependencies" in own, false);
    assert.deepEqual(
      Object.keys(own.peerDependencies).filter(
        (name) => own.peerDependenciesMeta[name]?.optional !== true,
      ),
      [],
    );
  });

  for (const entry of entries) {
    test(`import "${entry}" gives what it names, and loads nothing of the program`, () => {
      const names = loadedBy(`
        if (Object.keys(await import("${entry}")).length === 0) throw new Error("it names nothing");`);
      assert.ok(names.length > 0);
      assert.deepEqual(
        names.filter((name) => /\/(command|serve)-/.test(name)),
        [],
      );
    });
  }

  // Moments give and take a Buffer, which only Node's own types have.
  const ofNode = entries.filter((entry) => entry.startsWith("throughline/moments"));
  for (const [types, named] of [
    [[], entries.filter((entry) => !ofNode.includes(entry))],
    [["node"], ofNode],
  ] as const) {
    test(`the types need no package${types.length > 0 ? " but Node's, for moments" : ""}`, (t) => {
      const folder = fs.mkdtempSync(join(installed, "types-"));
      t.after(() => fs.rmSync(folder, { recursive: true, force: true }));
      for (const [n, entry] of named.entries()) {
        const program = `import * as entry from "${entry}";\nexport const names = Object.keys(entry);\n`;
        fs.writeFileSync(join(folder, `use-${n}.mts`), program);
      }
      const compilerOptions = {
        strict: true,
        skipLibCheck: false,
        noEmit: true,
        module: "nodenext",
        target: "es2023",
        typeRoots: [join(root, "node_modules/@types")],
        types,
      };
      fs.writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions }));
      run(folder, join(tools, "tsc"));
    });
  }

  test('import "throughline/openapi.json" gives the description of its server', () => {
    const program = `
      import api from "throughline/openapi.json" with { type: "json" };
      console.log(api.info.version, "/api/chats/{id}/turns" in api.paths);`;
    const printed = run(installed, process.execPath, "--input-type=module", "-e", program);
    assert.match(printed, new RegExp(`^${own.version} true$`, "m"));
  });

  test("a model whose package is not installed says what to install", () => {
    const program = `
      import { createResponder, parseModelName } from "throughline/ai-sdk";
      const settings = { openaiApiKey: "k" };
      const error = await createResponder(parseModelName("openai/o"), settings).catch((error) => error);
      console.log(error.code, error.message);`;
    const printed = run(installed, process.execPath, "--input-type=module", "-e", program);
    assert.match(printed, /^THROUGHLINE_CONFIGURATION .*npm install @ai-sdk\/openai$/m);
  });

  test("without the API of OpenTelemetry, a program that traces says what to install", () => {
    // As an SDK that has a copy of its own registers itself.
    const sdk = 'globalThis[Symbol.for("opentelemetry.js.api.1")] = {}';
    const node = ["--import", `data:text/javascript,${encodeURIComponent(sdk)}`];
    const chat = [join(contents, "dist/app/main.js"), "chat", "--ephemeral", "--model", "offline"];
    const { stderr, status } = spawnSync(process.execPath, [...node, ...chat], {
      env: { LOG_LEVEL: "warn" },
      input: "Hello\n",
      encoding: "utf8",
    });
    assert.equal(status, 0, stderr);
    assert.match(stderr, /nothing is traced until: npm install @opentelemetry\/api/);
  });

  test("an adapter whose framework is not installed says what to install", () => {
    const program = `
      import { openThroughline } from "throughline";
      import { ThroughlineChatMessageHistory } from "throughline/langchain";
      import { ThroughlineSaver } from "throughline/langgraph";
      import { openTelemetry } from "throughline/opentelemetry";
      const throughline = await openThroughline({ storage: "memory" });
      const saver = new ThroughlineSaver(throughline);
      const history = new ThroughlineChatMessageHistory(throughline, "a");
      for (const call of [
        () => saver.getTuple({ configurable: { thread_id: "a" } }),
        () => history.getMessages(),
        () => openTelemetry(),
      ]) {
        const error = await call().catch((error) => error);
        console.log(error.code, error.message);
      }`;
    const printed = run(installed, process.execPath, "--input-type=module", "-e", program);
    const [graph, chain, telemetry] = printed.split("\n");
    const code = "THROUGHLINE_CONFIGURATION";
    assert.match(graph ?? "", new RegExp(`^${code} .*npm install @langchain/langgraph-checkpoint`));
    assert.match(chain ?? "", new RegExp(`^${code} .*npm install @langchain/core$`));
    assert.match(telemetry ?? "", new RegExp(`^${code} .*npm install @opentelemetry/api`));
  });

  test("a provider that is installed beside it is loaded, and its errors are understood", async (t) => {
    await using server = await openAiServer(() => ({ status: 401, code: "invalid_api_key" }));
    fs.symlinkSync(join(root, "node_modules/@ai-sdk"), join(packages, "@ai-sdk"));
    t.after(() => fs.rmSync(join(packages, "@ai-sdk")));
    const program = `
      import { ResponderError } from "throughline";
      import { createResponder, parseModelName } from "throughline/ai-sdk";
      const settings = { openaiApiKey: "k", openaiBaseUrl: "${server.url}" };
      const responder = await createResponder(parseModelName("openai/o"), settings);
      const messages = [{ role: "user", content: "Hello" }];
      const request = { instructions: "", messages, context: "" };
      try {
        for await (const _ of responder.respond(request, new AbortController().signal));
      } catch (error) {
        console.log(error instanceof ResponderError, error.message);
      }`;
    // Not synchronously: the server is in this process.
    const child = spawn(process.execPath, ["--input-type=module", "-e", program], {
      cwd: installed,
      stdio: ["ignore", "pipe", "inherit"],
    });
    assert.match(await textOf(child.stdout), /^true .*\(HTTP 401, invalid_api_key\)/);
    assert.equal(server.requests[0]?.path, "/v1/responses");
  });

  /** Runs a program of the stranger's. @returns the files that it loaded, from the package's folder on. */
  function loadedBy(program: string): readonly string[] {
    const noting = `
      import { registerHooks } from "node:module";
      const loaded = [];
      const load = (url, context, next) => {
        if (url.startsWith("file:")) loaded.push(url);
        return next(url, context);
      };
      registerHooks({ load });
      ${program}
      console.log(JSON.stringify(loaded));`;
    const printed = run(installed, process.execPath, "--input-type=module", "-e", noting);
    return (JSON.parse(printed) as string[]).map((url) => url.split("/throughline/").at(-1) ?? "");
  }

  test("a process that imports and opens a home loads at most 6 files, all of them ours", () => {
    const names = loadedBy(`
      const { openThroughline } = await import("throughline");
      await using memories = await openThroughline({ home: "opened" });
      await memories.chats.append("a", [{ role: "user", content: "Hello" }]);
      await memories.chats.messages("a");`);
    assert.ok(names.length <= 6, names.join(" "));
    assert.deepEqual(
      names.filter((name) => !name.startsWith("dist/") || /vendor|zod|sdk/.test(name)),
      [],
    );
  });

  describe("the bundled code", () => {
    const code = () =>
      packed.files
        .filter(({ path }) => /^dist\/.*\.c?js$/.test(path) && !path.startsWith("dist/web/"))
        .map(({ path }) => ({ path, text: fs.readFileSync(join(contents, path), "utf8") }));
    /** Every module by the file that it is in: the bundler says above each where it came from. */
    const modules = () =>
      code().flatMap(({ path, text }) =>
        [...text.matchAll(/^\/\/(?:#region)? (\S+\.[cm]?[jt]s)$/gm)].map(([, module = ""]) => ({
          path,
          module,
        })),
      );

    test("loads no package but the optional peers", () => {
      const loaded =
        /(?:\bfrom |\bimport |\bimport\(|\brequire\(|\(import\.meta\.url\)\()"([^."][^"]*)"/g;
      const names = code().flatMap(({ text }) => {
        return [...text.matchAll(loaded)].map(([, name = ""]) => name);
      });
      // What ws would use if it were there.
      const known = [...builtinModules, "bufferutil", "utf-8-validate"];
      const others = names.filter((name) => !name.startsWith("node:") && !known.includes(name));
      const packages = others.map((name) => /^(?:@[^/]+\/)?[^/]+/.exec(name)?.[0]);
      // Of these only the types are used.
      const typesOnly = ["@openai/agents", "ai"];
      const expected = Object.keys(own.peerDependencies).filter(
        (name) => !typesOnly.includes(name),
      );
      assert.deepEqual([...new Set(packages)].sort(), expected.sort());
    });

    test("is in one file only: two entry points share what they share", () => {
      const seen = new Map<string, string>();
      const twice = modules().filter(({ path, module }) => {
        const isTwice = seen.has(module) && !module.includes("rolldown/runtime");
        seen.set(module, path);
        return isTwice;
      });
      assert.ok(seen.has("src/core/errors.ts") && seen.size > 300, `${seen.size} modules`);
      assert.deepEqual(twice, []);
    });

    /** MIT and BSD, ISC, Apache. */
    const permissions =
      /Permission is hereby granted, free of charge|Permission to use, copy, modify|Apache License/;

    test("comes with the licence of every package that it holds code of", () => {
      const notice = join(contents, "dist/THIRD-PARTY-NOTICES.txt");
      const text = fs.readFileSync(notice, "utf8");
      assert.match(text, /^ *Apache License\n +Version 2\.0/m);
      const parts = text.split(/\n-{80}\n/);
      const names = new Set(
        modules().flatMap(
          ({ module }) => /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(module)?.[1] ?? [],
        ),
      );
      for (const name of ["ai", "hono", "pino", "yaml", "zod"]) {
        assert.ok(names.has(name), name);
      }
      for (const name of names) {
        const part = parts.find((each) => each.trimStart().startsWith(`${name} `));
        assert.match(part ?? "", permissions, name);
      }
    });
  });

  test("comes with the licences of what is in the page", () => {
    const notice = join(contents, "dist/web/THIRD-PARTY.txt");
    assert.match(
      fs.readFileSync(notice, "utf8"),
      /^react-dom \d[\s\S]*Permission is hereby granted/m,
    );
  });

  /** Starts the installed program. @returns its address, and what ends it. */
  async function serve(t: TestContext, home: string, model: string) {
    const args = ["serve", "--home", home, "--port", "0", "--model", model];
    const env = { PATH: [tools, process.env["PATH"]].join(delimiter) };
    const child = spawn(command, args, { env, cwd: installed, stdio: "pipe" });
    t.after(() => child.kill("SIGKILL"));
    let logged = "";
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      logged += text;
    });
    let said = "";
    for await (const text of child.stdout
      .setEncoding("utf8")
      .iterator({ destroyOnReturn: false })) {
      said += text;
      if (said.includes("\n")) break;
    }
    const url = /http:\/\/[^\s/]+/.exec(said)?.[0] ?? assert.fail(`${said}\n${logged}`);
    const post = async (path: string, body: object) => {
      const headers = { "content-type": "application/json" };
      const answer = await fetch(url + path, {
        method: "POST",
        headers,
        body: JSON.stringify(body),
      });
      assert.ok(answer.ok, `${path}: ${answer.status} ${logged}`);
      return JSON.parse(await answer.text());
    };
    const end = async () => {
      const ended = once(child, "exit");
      child.kill("SIGTERM");
      assert.deepEqual(await ended, [0, null]);
      return logged;
    };
    return { url, post, end };
  }
  const command = join(packages, ".bin/throughline");

  test("the command tells its version", () => {
    assert.equal(run(installed, command, "--version").trim(), own.version);
  });

  test("the command serves the page, the API and the metrics, and answers by itself", async (t) => {
    const home = join(place, "home");
    fs.mkdirSync(home);
    fs.writeFileSync(join(home, "emotions.yaml"), "nonsense: [");
    const { url, post, end } = await serve(t, home, "offline");
    const page = await fetch(`${url}/`);
    assert.match(page.headers.get("content-type") ?? "", /^text\/html/);
    assert.match(await page.text(), /<title>/);
    assert.deepEqual(await (await fetch(`${url}/api/chats`)).json(), { chats: [] });
    const { assistant } = await post("/api/chats/a/messages", { content: "Hello" });
    assert.notEqual(assistant.content, "");
    assert.match(
      await (await fetch(`${url}/metrics`)).text(),
      /^throughline_turns_total\{.*\} 1$/m,
    );
    const { paths } = JSON.parse(await (await fetch(`${url}/api/openapi.json`)).text());
    assert.ok("/api/feedback" in paths);
    assert.match(await end(), /^\{"level":40,.*emotions\.yaml:1/m);
  });

  test("the command answers through a model, and exports reactions with their pictures", async (t) => {
    await using model = await openAiServer();
    const home = join(place, "home-with-moments");
    const { url, post, end } = await serve(t, home, `${model.url}#served`);
    const wording = consentWording;
    await post("/api/feedback/consent", { messages: true, frames: true, export: true, wording });
    const { assistant } = await post("/api/chats/a/messages", { content: "Tell me a joke" });
    assert.equal(assistant.content, "Hello from the model.");
    const picture = { create: { width: 64, height: 48, channels: 3, background: "teal" } } as const;
    const frame = await fetch(`${url}/api/frames`, {
      method: "POST",
      headers: { "content-type": "image/jpeg" },
      body: new Uint8Array(await sharp(picture).jpeg().toBuffer()),
    });
    assert.deepEqual(await frame.json(), { result: "accepted" });
    const reaction = { sentiment: "positive", what: "it", target_message_id: assistant.id };
    const { name } = await post("/api/feedback", reaction);
    const tar = await fetch(`${url}/api/feedback/${name}/package.tar`);
    assert.match(Buffer.from(await tar.arrayBuffer()).toString("latin1"), /feedback\.json\0/);
    await end();
    const out = join(place, "imagefolder");
    run(
      installed,
      command,
      "feedback",
      "export",
      "--format",
      "imagefolder",
      "--out",
      out,
      "--home",
      home,
    );
    assert.ok(fs.existsSync(join(out, name, "frames/000000.jpg")));
  });

  test("nothing in it runs a script at its installation", () => {
    const path = join(contents, "package.json");
    const { scripts } = JSON.parse(fs.readFileSync(path, "utf8"));
    assert.deepEqual(
      Object.keys(scripts).filter((name) => /install|prepare/.test(name)),
      [],
    );
  });

  test("publint finds nothing, also when it is strict", () => {
    run(root, join(tools, "publint"), tarball, "--strict");
  });

  test("attw finds types for every entry point, as ES modules", () => {
    run(root, join(tools, "attw"), tarball, "--profile", "esm-only", "--no-emoji");
  });
});

// The real SDK over the store. It is under commercial terms and no dependency of ours: it is installed into a
// temporary folder, without its program. Without the registry the test is skipped, which fails in CI.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import { join, relative } from "node:path";
import { type TestContext, test } from "node:test";
import { pathToFileURL } from "node:url";
import {
  type SessionKey,
  type SessionStoreEntry,
  ThroughlineSessionStore,
  type ThroughlineSessionStoreOptions,
} from "../../src/adapters/claude-agent-sdk/session-store.ts";
import { openThroughline } from "../../src/core/throughline.ts";
import { temporaryDirectory } from "../support/command-line.ts";

const version = "0.3.330";

interface At {
  readonly dir: string;
  readonly sessionStore: ThroughlineSessionStore;
}

interface Info {
  readonly sessionId: string;
  readonly summary: string;
  readonly lastModified: number;
  readonly customTitle?: string;
  readonly tag?: string;
  readonly firstPrompt?: string;
}

/** What of the SDK is called here. */
interface Sdk extends ThroughlineSessionStoreOptions {
  importSessionToStore(
    id: string,
    store: ThroughlineSessionStore,
    at: { readonly dir: string },
  ): Promise<void>;
  listSessions(at: At): Promise<readonly Info[]>;
  getSessionInfo(id: string, at: At): Promise<Info | undefined>;
  getSessionMessages(id: string, at: At): Promise<readonly { readonly uuid: string }[]>;
  listSubagents(id: string, at: At): Promise<readonly string[]>;
  getSubagentMessages(
    id: string,
    agent: string,
    at: At,
  ): Promise<readonly { readonly uuid: string }[]>;
  forkSession(
    id: string,
    at: At & { readonly title?: string },
  ): Promise<{ readonly sessionId: string }>;
  renameSession(id: string, title: string, at: At): Promise<void>;
  tagSession(id: string, tag: string | null, at: At): Promise<void>;
  deleteSession(id: string, at: At): Promise<void>;
}

/** What a program writes that the compiler has to agree with. */
const program = (source: string) => `
import { foldSessionSummary, query } from "@anthropic-ai/claude-agent-sdk";
import { openThroughline } from "${source}/core/throughline.ts";
import { ThroughlineSessionStore } from "${source}/adapters/claude-agent-sdk/session-store.ts";
const throughline = await openThroughline({ storage: "memory" });
const sessionStore = new ThroughlineSessionStore(throughline, { foldSessionSummary });
query({ prompt: "Hello", options: { sessionStore } });
`;

/** The SDK, whose types fit the store's. @returns `undefined` after skipping the test. */
async function installed(t: TestContext): Promise<Sdk | undefined> {
  const folder = temporaryDirectory(t);
  fs.writeFileSync(join(folder, "package.json"), '{"private":true,"type":"module"}');
  const args = [
    "install",
    `@anthropic-ai/claude-agent-sdk@${version}`,
    "--no-save",
    "--fetch-retries=0",
  ];
  const without = ["--omit=optional", "--omit=peer", "--ignore-scripts", "--no-audit", "--no-fund"];
  const options = { cwd: folder, encoding: "utf8", timeout: 120_000 } as const;
  const { status, stderr } = spawnSync("npm", [...args, ...without], options);
  if (status !== 0) {
    t.skip(`the Claude Agent SDK cannot be installed: ${/code (\w+)/.exec(stderr)?.[1] ?? status}`);
    return undefined;
  }
  const root = join(import.meta.dirname, "../..");
  const compilerOptions = {
    noEmit: true,
    skipLibCheck: true, // its own types import packages that are not installed
    typeRoots: [join(root, "node_modules/@types")],
  };
  const config = { extends: join(root, "tsconfig.json"), compilerOptions, include: ["*.ts"] };
  fs.writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
  fs.writeFileSync(join(folder, "program.ts"), program(relative(folder, join(root, "src"))));
  const compiled = spawnSync(join(root, "node_modules/.bin/tsc"), ["-p", "."], options);
  assert.equal(compiled.status, 0, compiled.stdout);
  const path = join(folder, "node_modules/@anthropic-ai/claude-agent-sdk/sdk.mjs");
  return (await import(pathToFileURL(path).href)) as Sdk;
}

const sessionId = "6b1f8a52-77d3-4c1e-9c7e-0d9f0a1b2c3d";
const uuidOf = (n: number) => `00000000-0000-4000-8000-${String(n).padStart(12, "0")}`;

/** Lines as the SDK's program writes them to its own file. */
function transcript(dir: string, first: number, count: number, agentId?: string) {
  return Array.from({ length: count }, (_, at): SessionStoreEntry => {
    const n = first + at;
    const role = at % 2 === 0 ? "user" : "assistant";
    const text = n === 4 ? "x".repeat(3_000_000) : `words ${n}`;
    return {
      parentUuid: at === 0 ? null : uuidOf(n - 1),
      isSidechain: agentId !== undefined,
      agentId,
      userType: "external",
      cwd: dir,
      sessionId,
      version: "2.1.330",
      gitBranch: "main",
      type: role,
      message:
        role === "user" ? { role, content: text } : { role, content: [{ type: "text", text }] },
      uuid: uuidOf(n),
      timestamp: new Date(1_780_000_000_000 + n * 1_000).toISOString(),
    };
  });
}

test(`the functions of the Claude Agent SDK ${version} work over the store, also after a restart`, async (t) => {
  const dir = fs.realpathSync(temporaryDirectory(t));
  const config = temporaryDirectory(t);
  process.env["CLAUDE_CONFIG_DIR"] = config;
  const sdk = await installed(t);
  if (sdk === undefined) return;
  const projectKey = dir.replace(/[^a-zA-Z0-9]/g, "-");
  const own = join(config, "projects", projectKey);
  const lines = (entries: readonly object[]) =>
    entries.map((each) => `${JSON.stringify(each)}\n`).join("");
  const said = transcript(dir, 1, 620);
  const bySubagent = transcript(dir, 1_001, 2, "a1");
  fs.mkdirSync(join(own, sessionId, "subagents"), { recursive: true });
  fs.writeFileSync(join(own, `${sessionId}.jsonl`), lines(said));
  fs.writeFileSync(join(own, sessionId, "subagents/agent-a1.jsonl"), lines(bySubagent));
  const key: SessionKey = { projectKey, sessionId };
  const home = temporaryDirectory(t);
  const opened = async () => {
    const throughline = await openThroughline({ home });
    const sessionStore = new ThroughlineSessionStore(throughline, sdk);
    return { throughline, sessionStore, at: { dir, sessionStore } };
  };
  const uuids = async (messages: Promise<readonly { readonly uuid: string }[]>) =>
    (await messages).map(({ uuid }) => uuid);
  const wanted = said.map(({ uuid }) => uuid);
  let forked: string;
  {
    const { throughline, sessionStore, at } = await opened();
    await sdk.importSessionToStore(sessionId, sessionStore, { dir });
    await sdk.importSessionToStore(sessionId, sessionStore, { dir });
    assert.deepEqual(await sessionStore.load(key), JSON.parse(JSON.stringify(said)));
    assert.deepEqual(await sessionStore.listSubkeys(key), ["subagents/agent-a1"]);
    fs.rmSync(join(config, "projects"), { recursive: true });
    assert.deepEqual(await uuids(sdk.getSessionMessages(sessionId, at)), wanted);
    assert.deepEqual(await sdk.listSubagents(sessionId, at), ["a1"]);
    const ofSubagent = await uuids(sdk.getSubagentMessages(sessionId, "a1", at));
    assert.deepEqual(ofSubagent, [uuidOf(1_001), uuidOf(1_002)]);
    const [info] = await sdk.listSessions(at);
    assert.deepEqual([info?.sessionId, info?.firstPrompt], [sessionId, "words 1"]);
    const [session] = await sessionStore.listSessions(projectKey);
    assert.equal(info?.lastModified, session?.mtime);
    await sdk.renameSession(sessionId, "A lighthouse", at);
    await sdk.tagSession(sessionId, "kept", at);
    forked = (await sdk.forkSession(sessionId, { ...at, title: "Another way" })).sessionId;
    await throughline.close();
  }
  const { throughline, sessionStore, at } = await opened();
  const renamed = await sdk.getSessionInfo(sessionId, at);
  assert.deepEqual([renamed?.customTitle, renamed?.tag], ["A lighthouse", "kept"]);
  assert.deepEqual(
    (await sdk.listSessions(at)).map((each) => [each.sessionId, each.customTitle]).sort(),
    [
      [sessionId, "A lighthouse"],
      [forked, "Another way"],
    ].sort(),
  );
  assert.equal((await sdk.getSessionMessages(forked, at)).length, said.length);
  await sdk.deleteSession(sessionId, at);
  assert.equal(await sdk.getSessionInfo(sessionId, at), undefined);
  assert.deepEqual(await sdk.getSessionMessages(sessionId, at), []);
  assert.deepEqual(await sessionStore.listSubkeys(key), []);
  assert.equal((await sdk.getSessionMessages(forked, at)).length, said.length);
  await throughline.close();
});

// What a program calls in a wrong way answers with an error of ours, never with one of the engine's.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import * as aiSdk from "../src/adapters/ai-sdk/ai-sdk.ts";
import * as claude from "../src/adapters/claude-agent-sdk/session-store.ts";
import * as langchain from "../src/adapters/langchain/history.ts";
import * as langgraph from "../src/adapters/langchain/saver.ts";
import * as mcp from "../src/adapters/mcp/mcp.ts";
import * as openai from "../src/adapters/openai/session.ts";
import * as telemetry from "../src/adapters/opentelemetry/open-telemetry.ts";
import * as companionRoutes from "../src/companion/routes.ts";
import * as companion from "../src/companion/start-companion.ts";
import { startCompanion } from "../src/companion/start-companion.ts";
import * as core from "../src/index.ts";
import * as momentsRoutes from "../src/moments/routes.ts";
import * as moments from "../src/moments/start-moments.ts";
import * as postgres from "../src/postgres/postgres.ts";
import * as server from "../src/server/server.ts";

const { isThroughlineError, openThroughline } = core;

const throughline = await openThroughline({ storage: "memory" });
after(() => throughline.close());
const { chats, sessions, workingMemory } = throughline;
await chats.append("a", [{ role: "user", content: "x", id: "b" }]);
const turns = await throughline.turns({ model: core.offlineResponder() });

const wrong: readonly (readonly unknown[])[] = [[], [5], [{ wrong: 1 }], ["a"], [undefined, 5]];

/** Runs a call to its end. @returns what it threw. */
async function thrownBy(call: () => unknown): Promise<unknown> {
  try {
    const made = (await call()) as { readonly done?: unknown } | undefined;
    await made?.done;
    return undefined;
  } catch (error) {
    return error ?? new Error("nothing was thrown");
  }
}

function assertOurs(error: unknown, called: string): void {
  assert.ok(isThroughlineError(error), `${called}: ${String(error)}`);
  assert.doesNotMatch(error.message, /Cannot|is not a function|is not iterable|The "/, called);
}

const entries: Readonly<Record<string, object>> = {
  throughline: core,
  companion,
  companionRoutes,
  moments,
  momentsRoutes,
  postgres,
  server,
  claude,
  aiSdk,
  langchain,
  langgraph,
  mcp,
  openai,
  telemetry,
};

/** Made by `open`, or by who throws them. */
const notCalled = ["ResponderRegistry", "ResponderError", "ThroughlineError"];

// biome-ignore lint/suspicious/noExplicitAny: these are called as no type allows.
type Any = any;

for (const [entry, exported] of Object.entries(entries)) {
  for (const [name, value] of Object.entries(exported)) {
    if (typeof value !== "function" || notCalled.includes(name)) continue;
    test(`${name} of ${entry} refuses arguments that are none`, async () => {
      const isClass = /^class /.test(Function.prototype.toString.call(value));
      const call = value as Any;
      for (const args of wrong) {
        const error = await thrownBy(() => (isClass ? new call(...args) : call(...args)));
        if (error !== undefined) assertOurs(error, `${name}(${JSON.stringify(args)})`);
      }
    });
  }
}

const own = await startCompanion(throughline);
const saver = new langgraph.ThroughlineSaver(throughline);
const objects: Readonly<Record<string, object>> = {
  companion: own,
  emotions: own.emotions,
  clients: own.clients,
  saver,
  history: new langchain.ThroughlineChatMessageHistory(throughline, "a"),
  "session store": new claude.ThroughlineSessionStore(throughline, {
    foldSessionSummary: () => ({}),
  } as Any),
  session: new openai.ThroughlineSession(throughline, "a"),
};
/** What ends what the others are called on, and what is not meant to be called from outside. */
const notMeant = ["constructor", "close", "become", "upMs", "appended"];
const inThread = { configurable: { thread_id: "t", checkpoint_id: "c" } };
const long = "x".repeat(10_000);
const wrongHere: typeof wrong = [
  ...wrong,
  [""],
  [long],
  [null],
  ["a", ""],
  ["a", long],
  ["a", 5],
  ["a", null],
  [[], []],
  [[5], [5]],
  [{ configurable: 5 }, 5, 5, 5],
  [inThread],
  [inThread, 5, "task"],
  [inThread, [5], "task"],
];

for (const [what, object] of Object.entries(objects)) {
  test(`every method of ${what} refuses wrong arguments with an error of ours`, async () => {
    const names = Object.getOwnPropertyNames(Object.getPrototypeOf(object));
    const faults: string[] = [];
    for (const name of names.filter((each) => !notMeant.includes(each))) {
      const get = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(object), name)?.get;
      if (get !== undefined) continue;
      for (const args of wrongHere) {
        const error = await thrownBy(async () => {
          const made = (object as Any)[name](...args);
          if (made?.[Symbol.asyncIterator] !== undefined) for await (const _ of made);
          return made;
        });
        if (error === undefined) continue;
        try {
          assertOurs(error, `${name}(${JSON.stringify(args).slice(0, 80)})`);
        } catch (fault) {
          faults.push(String((fault as Error).message).split("\n")[0] ?? "");
        }
      }
    }
    assert.deepEqual(faults, []);
  });
}

/** Calls that are refused. */
const invalid: readonly [called: string, call: () => unknown][] = [
  ["submit without input", () => turns.submit("a", undefined as Any)],
  ["open without a target", () => turns.open("a", { content: "x" }, undefined as Any)],
  ["open with half a target", () => turns.open("a", { content: "x" }, { provider: "p" } as Any)],
  ["open without input", () => turns.open("a", undefined as Any, { provider: "p", model: "m" })],
  ["a session without an id", () => new openai.ThroughlineSession(throughline, undefined as Any)],
  [
    "a history without an id",
    () => new langchain.ThroughlineChatMessageHistory(throughline, undefined as Any),
  ],
  [
    "a session store without its fold",
    () => new claude.ThroughlineSessionStore(throughline, undefined as Any),
  ],
  [
    "a fork with options for ids",
    () => chats.fork("a", { messageId: "b" } as Any, undefined as Any),
  ],
  ["a page without respond", () => aiSdk.chatRoutes(throughline, undefined as Any)],
  ["a search for chats without words", () => chats.findChats(undefined as Any)],
  ["a page with options that are null", () => chats.messages("a", null as Any)],
  ["a list with options that are null", () => chats.list(null as Any)],
  ["a search with options that are null", () => chats.search("a", null as Any)],
  ["a search for chats with options that are null", () => chats.findChats("a", null as Any)],
  ["an append with options that are null", () => chats.append("a", [], null as Any)],
  ["a reset with a target that is null", () => sessions.reset("a", null as Any)],
  [
    "a provider's reset with options that are null",
    () => sessions.resetProvider("a", "b", null as Any),
  ],
  ["no chat id", () => chats.forgottenAt(undefined as Any)],
  ["usage without counts", () => sessions.update("a", undefined as Any)],
  ["a target that is a number", () => sessions.resolve("a", 5 as Any)],
  ["no interaction", () => workingMemory.of("a").append(undefined as Any)],
  ["a feature without open", () => throughline.extend("a", undefined as Any)],
];
const misconfigured: typeof invalid = [
  ["neither home nor storage", () => openThroughline({})],
  [
    "a saver with transcript: 5",
    () => new langgraph.ThroughlineSaver(throughline, { transcript: 5 } as Any),
  ],
  [
    "an unknown word for logErrors",
    () => openThroughline({ storage: "memory", logErrors: "all" as Any }),
  ],
];
for (const [code, calls] of [
  ["THROUGHLINE_INVALID", invalid],
  ["THROUGHLINE_CONFIGURATION", misconfigured],
] as const) {
  test(`calls that are refused with ${code}`, async () => {
    for (const [called, call] of calls) {
      const error = await thrownBy(call);
      assertOurs(error, called);
      assert.equal(isThroughlineError(error, code), true, `${called}: ${String(error)}`);
    }
  });
}

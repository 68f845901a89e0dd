// A bug of the application's own code is named where its developer looks: in the turn, and in the log.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { silentSpan } from "../src/core/telemetry.ts";
import {
  type Logger,
  offlineResponder,
  openThroughline,
  type Responder,
  ResponderError,
  type ResponderEvent,
  type Telemetry,
  type ThroughlineOptions,
  type TurnsOptions,
} from "../src/index.ts";
import { HeldClock } from "./support/held-clock.ts";
import { HeldTimers } from "./support/held-timers.ts";
import { newHome, started } from "./support/moments-home.ts";

type Respond = Responder["respond"];

type Level = keyof Logger;

/** A logger that keeps its lines. */
function logOf() {
  const lines: { readonly level: Level; readonly [field: string]: unknown }[] = [];
  const note = (level: Level) => (fields: object, says: string) =>
    void lines.push({ ...fields, level, says });
  const logger: Logger = {
    debug: note("debug"),
    info: note("info"),
    warn: note("warn"),
    error: note("error"),
  };
  const at = (level: Level) => lines.filter((line) => line.level === level);
  return { logger, at, text: () => JSON.stringify(lines) };
}

const end = {
  type: "end",
  finish: "stop",
  usage: { inputTokens: 1, outputTokens: 1, costUsd: 0 },
} as const;
const call = { id: "c1", type: "function", function: { name: "pay", arguments: "{}" } } as const;
const tool = { name: "pay", description: "Pays.", parameters: { type: "object" } } as const;

const throws = (error: unknown): Respond =>
  async function* () {
    yield { type: "text", text: "So" };
    throw error;
  };

/** Yields what no TypeScript would take. */
const yields = (...events: readonly unknown[]): Respond =>
  async function* () {
    yield* events as ResponderEvent[];
  };

/** Calls the tool that it is offered; `first` before it yields the call. */
const calls = (first: boolean): Respond =>
  async function* ({ tools }) {
    const [offered] = tools?.tools ?? [];
    const early = first ? await offered?.run({}, call) : undefined;
    yield { type: "tool-call", call };
    const content = early ?? (await offered?.run({}, call)) ?? "";
    yield { type: "tool-result", toolCallId: "c1", toolName: "pay", content, isError: false };
    yield end;
  };

async function ask(
  t: TestContext,
  respond: unknown,
  options: ThroughlineOptions & { readonly turns?: TurnsOptions | undefined } = {},
) {
  const { turns: own, ...rest } = options;
  const log = logOf();
  const throughline = await openThroughline({ storage: "memory", logger: log.logger, ...rest });
  t.after(() => throughline.close());
  const model = { provider: "own", model: "m1", window: undefined, respond } as Responder;
  const turns = await throughline.turns({ model, ...own });
  const answer = await turns.submit("a", { content: "Hello" }).done;
  return { answer, log };
}

const lateTool = (run: () => Promise<string>): TurnsOptions => ({
  tools: () => ({ instructions: "", tools: [{ ...tool, run }] }),
});

const contracts: readonly [
  what: string,
  respond: unknown,
  says: RegExp,
  turns?: TurnsOptions | undefined,
][] = [
  ["is a plain async function", async () => "Hi", /returns a promise.*async \*respond/],
  ["returns text", () => "Hi", /returns a string.*async \*respond/],
  ["returns nothing", () => undefined, /returns a undefined/],
  ["is missing", undefined, /returns a undefined.*async \*respond/],
  ["yields a string", yields("Hi"), /yields a string.*type: "text"/],
  [
    "yields an event of no known type",
    yields({ type: "token", text: "Hi" }),
    /type must be one of text, reasoning/,
  ],
  ["yields an event without a type", yields({ text: "Hi" }), /type must be one of text, reasoning/],
  [
    "yields text that is a number",
    yields({ type: "text", text: 5 }),
    /event "text".*text must be text/,
  ],
  [
    "yields a call without a function",
    yields({ type: "tool-call", call: {} }),
    /event "tool-call".*call\.id must be/,
  ],
  [
    "yields an end without usage",
    yields({ type: "end", finish: "stop" }),
    /event "end".*usage must be/,
  ],
  ["forgets the end", yields({ type: "text", text: "Hi" }), /without yielding its last event/],
  [
    "calls a tool's run before it yields the call",
    calls(true),
    /`run` of the tool pay before it yields its `tool-call` event/,
    lateTool(async () => "paid"),
  ],
];

test("a tool that is called while its call is being stored waits for that, however slow the storage is", async (t) => {
  const timers = new HeldTimers(new HeldClock());
  const called = Promise.withResolvers<void>();
  let isYielded = false;
  const telemetry: Telemetry = {
    begin: (start) => ({
      ...silentSpan,
      run: <T>(work: () => T) => {
        if (start.type !== "append" || !isYielded) return work();
        isYielded = false;
        called.resolve();
        return timers.pass(5_000).then(work) as T;
      },
    }),
  };
  const respond: Respond = async function* ({ tools }) {
    const content = called.promise.then(() => tools?.tools[0]?.run({}, call) ?? "");
    isYielded = true;
    yield { type: "tool-call", call };
    const result = { toolCallId: "c1", toolName: "pay", content: await content };
    yield { type: "tool-result", isError: false, ...result };
    yield { type: "text", text: "Done." };
    yield end;
  };
  const turns = lateTool(async () => "paid");
  const { answer } = await ask(t, respond, { turns, telemetry, timers });
  assert.deepEqual([answer.outcome, answer.reason], ["answered", undefined]);
});

for (const [what, respond, says, turns] of contracts) {
  test(`a responder that ${what} is told which contract it broke`, async (t) => {
    const { answer, log } = await ask(t, respond, { turns });
    assert.equal(answer.outcome, "failed");
    assert.match(answer.reason ?? "", says);
    assert.match(answer.reason ?? "", /^own\/m1 broke off: its responder /);
    const [line] = log.at("error");
    assert.match(String(line?.["message"]), says);
    assert.equal(log.at("error").length, 1);
  });
}

test("what a responder throws is in the log with message and stack, cut at 2,000 characters", async (t) => {
  const error = new TypeError(`no field ${"x".repeat(3_000)}`);
  const { answer, log } = await ask(t, throws(error));
  assert.equal(answer.reason, "own/m1 broke off: its responder threw TypeError; see the log");
  const [line] = log.at("error");
  assert.equal(line?.["error"], "TypeError");
  assert.equal(line?.["message"], error.message.slice(0, 2_000));
  const { log: short } = await ask(t, throws(new Error("short")));
  assert.match(
    String(short.at("error")[0]?.["stack"]),
    /^Error: short\n\s+at .*own-faults\.test\.ts/s,
  );
  assert.ok(String(line?.["stack"]).length <= 2_000);
});

test('`logErrors: "names"` leaves message and stack out', async (t) => {
  const { log } = await ask(t, throws(new Error("said in confidence")), { logErrors: "names" });
  assert.equal(log.at("error")[0]?.["error"], "Error");
  assert.doesNotMatch(log.text(), /confidence|own-faults/);
});

/** As the clients of OpenAI and Anthropic, and the AI SDK, throw them. */
const refusals: readonly [status: number, fields: object, says: string, detail?: string][] = [
  [
    400,
    { error: { message: "I cannot say canary" } },
    "refused the request",
    "I cannot say canary",
  ],
  [429, { error: { error: { message: "canary" } } }, "refused the request", "canary"],
  [401, { error: { message: "canary: wrong key" } }, "refused the request"],
];

for (const [status, fields, says, detail] of refusals) {
  for (const name of ["status", "statusCode"]) {
    test(`a refusal of a provider's client is for the caller, not the log: ${name} ${status}`, async (t) => {
      const thrown = Object.assign(new Error(`${status} canary`), { [name]: status, ...fields });
      const { answer, log } = await ask(t, throws(thrown));
      assert.equal(
        answer.reason?.startsWith(`own/m1 ${says} (HTTP ${status})`),
        true,
        answer.reason,
      );
      assert.equal(answer.detail, detail);
      assert.doesNotMatch(log.text(), /canary/);
    });
  }
}

test("a ResponderError is for the caller, not the log", async (t) => {
  const refused = new ResponderError("own/m1 says no", { kind: "refused", detail: "canary" });
  const { answer, log } = await ask(t, throws(refused));
  assert.deepEqual([answer.reason, answer.detail], ["own/m1 says no", "canary"]);
  assert.doesNotMatch(log.text(), /canary|says no/);
});

test("what a tool throws is in the log with its name, also if its responder lets it through", async (t) => {
  const run = () => Promise.reject(new RangeError("no such account"));
  const { answer, log } = await ask(t, calls(false), { turns: lateTool(run) });
  assert.equal(answer.reason, "own/m1 broke off: its responder threw RangeError; see the log");
  const [line] = log.at("error");
  assert.deepEqual([line?.["tool"], line?.["message"]], ["pay", "no such account"]);
});

const wrongTools: readonly [what: string, tools: unknown, says: RegExp][] = [
  ["a list", [tool], /tools must be a function/],
  ["a function that returns a list", () => [tool], /tools\(\).*instructions, tools/],
  ["a tool without run", () => ({ instructions: "", tools: [tool] }), /tools\(\).*run/],
];

for (const [what, tools, says] of wrongTools) {
  test(`tools that are ${what} are refused with a code`, async (t) => {
    const turns = { tools: tools as TurnsOptions["tools"] };
    const refused = { code: "THROUGHLINE_CONFIGURATION", message: says };
    await assert.rejects(ask(t, yields(end), { turns }), refused);
  });
}

for (const name of ["persona", "tools"] as const) {
  test(`what ${name} throws is the caller's`, async (t) => {
    const log = logOf();
    const own = () => {
      throw new RangeError("no such file");
    };
    const turns = { [name]: own };
    await assert.rejects(ask(t, yields(end), { logger: log.logger, turns }), /no such file/);
  });
}

test("without a logger the developer reads it on standard error", async (t) => {
  const written: string[] = [];
  t.mock.method(process.stderr, "write", (text: string) => written.push(text) > 0);
  const logger: Logger | undefined = undefined;
  await ask(t, throws(new TypeError("no such field")), { logger });
  assert.match(written.join(""), /the responder threw.*TypeError: no such field\n\s+at /s);
});

test("a watcher that throws is in the log, and ends no turn, session or consent", async (t) => {
  const log = logOf();
  const home = newHome(t);
  await using throughline = await openThroughline({ home, logger: log.logger });
  const turns = await throughline.turns({ model: offlineResponder() });
  const moments = await started(throughline);
  const fails = () => {
    throw new Error("watched badly");
  };
  turns.onTurn(fails);
  throughline.sessions.onEnd(fails);
  let heard = 0;
  const watchAgain = () => {
    off();
    if (++heard < 10) off = turns.onTurn(watchAgain);
  };
  let off = turns.onTurn(watchAgain);
  moments.onAgreed((() => Promise.reject(new Error("watched badly"))) as () => void);
  const { outcome } = await turns.submit("a", { content: "Hello" }).done;
  const { generation } = await throughline.sessions.reset("a");
  await moments.agree({ messages: false });
  const kept = JSON.parse(readFileSync(join(home, "consent.json"), "utf8"));
  assert.deepEqual([outcome, generation, kept.messages], ["answered", 2, false]);
  assert.equal(heard, 1, "one that watches again hears of the next turn");
  const failed = log.at("error").map(({ says, message }) => [says, message]);
  assert.deepEqual(failed, Array(3).fill(["a watcher failed", "watched badly"]));
});

// What an SDK of OpenTelemetry gets, with the real SDK. The first test runs while none is registered.

import assert from "node:assert/strict";
import { before, beforeEach, describe, test } from "node:test";
import { OpenTelemetry as AiSdkTelemetry } from "@ai-sdk/otel";
import {
  type Attributes,
  context,
  type Meter,
  metrics,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
} from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import {
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
  TracerProvider,
} from "@opentelemetry/sdk-trace";
import {
  APICallError,
  dynamicTool,
  isStepCount,
  jsonSchema,
  registerTelemetry,
  streamText,
} from "ai";
import { MockLanguageModelV4, simulateReadableStream } from "ai/test";
import { column } from "../../../test/support/columns.ts";
import { samplePackage } from "../../../test/support/s3/sample-package.ts";
import { UploadWorld } from "../../../test/support/s3/upload-world.ts";
import { ThroughlineError } from "../../core/errors.ts";
import { type Logger, silentLogger } from "../../core/logger.ts";
import { aiSdkResponder } from "../../core/models/ai-sdk-responder.ts";
import type { Responder, ResponderEvent, TurnTool } from "../../core/models/responder.ts";
import type { Telemetry } from "../../core/telemetry.ts";
import { openThroughline } from "../../core/throughline.ts";
import { openTelemetry } from "./open-telemetry.ts";

const chat = "telegram:42";
const usage = {
  inputTokens: { total: 5, noCache: 3, cacheRead: 2, cacheWrite: 0 },
  outputTokens: { total: 4, text: 3, reasoning: 1 },
};
const finish = (unified: string) => {
  return { type: "finish", finishReason: { unified, raw: "raw" }, usage };
};
const says = (delta: string) => [
  { type: "response-metadata", id: "resp-1", modelId: "m-2026" },
  { type: "text-start", id: "t" },
  { type: "text-delta", id: "t", delta },
  { type: "text-end", id: "t" },
];
const pays = [
  { type: "tool-call", toolCallId: "c1", toolName: "pay", input: '{"to":"Ada"}' },
  finish("tool-calls"),
];
const noUsage = { inputTokens: undefined, outputTokens: undefined, costUsd: undefined };
const answers = [...says("Paid, "), ...says("gladly."), finish("stop")];

/** Hangs after its chunks until it is aborted. */
const hang = Symbol("hang");
type Script = readonly (readonly object[] | typeof hang | Error)[];

function mockModel(script: Script): MockLanguageModelV4 {
  let asked = 0;
  return new MockLanguageModelV4({
    provider: "mocked.chat",
    modelId: "m",
    async doStream({ abortSignal }) {
      const step = script[asked++] ?? assert.fail("not asked so often");
      if (step instanceof Error) throw step;
      if (step !== hang) {
        const pace = { initialDelayInMs: null, chunkDelayInMs: null };
        return { stream: simulateReadableStream({ chunks: [...step], ...pace }) as never };
      }
      const stream = new ReadableStream({
        start(controller) {
          for (const part of says("Well")) controller.enqueue(part);
          abortSignal?.addEventListener("abort", () => controller.error(abortSignal.reason));
        },
      });
      return { stream: stream as never };
    },
  });
}

interface World {
  readonly script?: Script;
  readonly model?: Responder | undefined;
  readonly pay?: TurnTool["run"];
  readonly telemetry?: Telemetry;
  readonly logger?: Logger;
}

async function world(given: World) {
  const { script = [answers], pay = async () => "paid" } = given;
  const model =
    given.model ??
    aiSdkResponder({ provider: "bedrock", modelId: "m", model: mockModel(script), maxRetries: 0 });
  const throughline = await openThroughline({
    storage: "memory",
    provider: "bedrock",
    model: "m",
    logger: given.logger ?? silentLogger,
    telemetry: given.telemetry ?? (await openTelemetry()),
  });
  const tool: TurnTool = {
    name: "pay",
    description: "Pays.",
    parameters: { type: "object", properties: {} },
    run: pay,
  };
  const turns = await throughline.turns({
    model,
    persona: "You are kind.",
    companionName: "Nova",
    tools: () => ({ instructions: "", tools: [tool] }),
  });
  const records = async () => Array.fromAsync(throughline.chats.records(chat));
  return { turns, throughline, records };
}

const exporter = new InMemorySpanExporter();
const spans = () =>
  exporter.getFinishedSpans().toSorted((a, b) => compare(a.startTime, b.startTime));
const compare = ([a, b]: readonly [number, number], [c, d]: readonly [number, number]) =>
  a - c || b - d;

/** The names of all spans, each below its parent and indented by a blank; without the appends. */
function tree(withAppends = false): readonly string[] {
  const all = spans();
  const below = (parent: string | undefined, depth: number): string[] =>
    all
      .filter((each) => each.parentSpanContext?.spanId === parent)
      .flatMap((each) => [
        " ".repeat(depth) + each.name,
        ...below(each.spanContext().spanId, depth + 1),
      ]);
  const lines = below(undefined, 0);
  assert.equal(lines.length, all.length, "a span without its parent");
  return withAppends ? lines : lines.filter((line) => !line.endsWith("throughline.append"));
}

const named = (name: string): ReadableSpan =>
  spans().find((each) => each.name === name) ?? assert.fail(`no span ${name}`);

/** A span as an instrumented library makes one. */
const traced = (name: string) => trace.getTracer("a library").startSpan(name).end();

/** Made before any SDK is registered. */
const early = await openTelemetry();

/** What a custom meter provider was told, as `name {attributes}`. */
let measured: string[] = [];
const seconds: number[] = [];

test("without an SDK a turn stores what it stores without telemetry, and nothing is loaded for it", async () => {
  const kept = async (telemetry: Telemetry | undefined) => {
    const throughline = await openThroughline({ storage: "memory", telemetry });
    const model = aiSdkResponder({ provider: "p", model: mockModel([answers]), maxRetries: 0 });
    const turns = await throughline.turns({ model });
    await turns.submit(chat, { id: "t1", content: "Pay Ada" }).done;
    const records = await Array.fromAsync(throughline.chats.records(chat));
    return records.map((record) => Object.keys(record));
  };
  assert.deepEqual(await kept(early), await kept(undefined));
  assert.equal(early.begin({ type: "upload" }).traceId, undefined);
});

test("an option that there is not is refused", async () => {
  await assert.rejects(openTelemetry({ contents: true } as never), {
    code: "THROUGHLINE_CONFIGURATION",
    message: /there is no contents/,
  });
});

describe("with an SDK", () => {
  before(() => {
    const spanProcessors = [new SimpleSpanProcessor({ exporter })];
    trace.setGlobalTracerProvider(new TracerProvider({ spanProcessors }));
    context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
    const createHistogram = (name: string, options: { unit: string }) => ({
      record: (value: number, attributes: Attributes) => {
        seconds.push(value);
        measured.push(`${name} ${options.unit} ${JSON.stringify(attributes)}`);
      },
    });
    const meter = { createHistogram } as unknown as Meter;
    metrics.setGlobalMeterProvider({ getMeter: () => meter });
  });

  beforeEach(() => {
    exporter.reset();
    measured = [];
  });

  test("a turn with a tool is an agent with two model calls and the tool between them", async () => {
    const { turns } = await world({ script: [pays, answers] });
    await turns.submit(chat, { content: "Pay Ada" }).done;
    assert.deepEqual(tree(), ["invoke_agent Nova", " chat m", " execute_tool pay", " chat m"]);
    // The message, the call and the answer; and the result.
    const appends = tree(true).filter((line) => line.endsWith("throughline.append"));
    const below = (depth: number) => `${" ".repeat(depth)}throughline.append`;
    assert.deepEqual(appends.toSorted(), [below(2), below(1), below(1), below(1)]);
    const [agent, tool] = [named("invoke_agent Nova"), named("execute_tool pay")];
    const [first, last] = spans().filter(({ name }) => name === "chat m");
    assert.ok(first && last);
    const common = { "gen_ai.conversation.id": chat, "gen_ai.request.model": "m" };
    assert.deepEqual(agent.attributes, {
      ...common,
      "gen_ai.operation.name": "invoke_agent",
      "gen_ai.agent.name": "Nova",
      "gen_ai.response.finish_reasons": ["stop"],
      "gen_ai.usage.input_tokens": 10,
      "gen_ai.usage.output_tokens": 8,
      "throughline.freshness.reason": "no_session",
      "throughline.turn.stage": "done",
    });
    const call = {
      ...common,
      "gen_ai.operation.name": "chat",
      "gen_ai.provider.name": "aws.bedrock",
      "gen_ai.usage.cache_read.input_tokens": 2,
      "gen_ai.usage.input_tokens": 5,
      "gen_ai.usage.output_tokens": 4,
      "gen_ai.usage.reasoning.output_tokens": 1,
    };
    const reasons = "gen_ai.response.finish_reasons";
    assert.deepEqual(first.attributes, { ...call, [reasons]: ["tool-calls"] });
    assert.deepEqual(last.attributes, {
      ...call,
      [reasons]: ["stop"],
      "gen_ai.response.id": "resp-1",
      "gen_ai.response.model": "m-2026",
    });
    assert.deepEqual(tool.attributes, {
      "gen_ai.operation.name": "execute_tool",
      "gen_ai.tool.name": "pay",
      "gen_ai.tool.call.id": "c1",
    });
    assert.deepEqual(column([agent, first, tool, last], "kind"), [
      SpanKind.INTERNAL,
      SpanKind.CLIENT,
      SpanKind.INTERNAL,
      SpanKind.CLIENT,
    ]);
    assert.ok(spans().every(({ status }) => status.code === SpanStatusCode.UNSET));
    assert.ok(compare(first.endTime, last.startTime) <= 0, "a call ends with its last chunk");
    assert.ok(compare(last.endTime, agent.endTime) <= 0, "the turn ends with its last append");
    assert.ok(compare(named("throughline.append").startTime, agent.startTime) >= 0);
  });

  test("what a model's client and a tool do is inside their spans", async () => {
    const pay = async () => {
      traced("transfer");
      return "paid";
    };
    const called = mockModel([pays, answers]);
    const ask = called.doStream.bind(called);
    called.doStream = (options) => {
      traced("POST /v1");
      return ask(options);
    };
    const model = aiSdkResponder({ provider: "bedrock", modelId: "m", model: called });
    const { turns } = await world({ model, pay });
    await turns.submit(chat, { content: "Pay Ada" }).done;
    assert.deepEqual(tree(), [
      "invoke_agent Nova",
      " chat m",
      "  POST /v1",
      " execute_tool pay",
      "  transfer",
      " chat m",
      "  POST /v1",
    ]);
  });

  test("a turn is inside the request that asked for it, also one that waited for another", async () => {
    const { turns } = await world({ script: [answers, answers] });
    const tracer = trace.getTracer("web");
    const asked = (name: string) =>
      tracer.startActiveSpan(name, (span) => {
        span.end();
        return turns.submit(chat, { content: name }).done;
      });
    await Promise.all([asked("POST /1"), asked("POST /2")]);
    const lines = tree().filter((line) => !line.includes("chat"));
    assert.deepEqual(lines, ["POST /1", " invoke_agent Nova", "POST /2", " invoke_agent Nova"]);
  });

  const refusal = { url: "http://127.0.0.1/", requestBodyValues: {}, statusCode: 401 };
  for (const [what, step] of [
    ["a model that refuses", new APICallError({ message: "secret words", ...refusal })],
    ["a stream that closes without an end", says("Well")],
  ] as const) {
    test(`${what} is a failed call in a failed turn, by our code`, async () => {
      const { turns } = await world({ script: [step] });
      assert.equal((await turns.submit(chat, { content: "Pay Ada" }).done).outcome, "failed");
      assert.deepEqual(tree(), ["invoke_agent Nova", " chat m"]);
      for (const span of [named("invoke_agent Nova"), named("chat m")]) {
        assert.equal(span.attributes["error.type"], "THROUGHLINE_MODEL_FAILED");
        assert.deepEqual(span.status, { code: SpanStatusCode.ERROR });
        assert.deepEqual(span.events, []);
      }
      assert.equal(named("invoke_agent Nova").attributes["throughline.turn.stage"], "model");
      const duration = 'throughline.turn.duration s {"error.type":"THROUGHLINE_MODEL_FAILED"}';
      assert.ok(measured.includes(duration), measured.join("\n"));
    });
  }

  test("a tool that throws is a failed tool in a turn that is whole", async () => {
    const pay = async () => {
      throw new RangeError("Ada has no account");
    };
    const { turns } = await world({ script: [pays, answers], pay });
    await turns.submit(chat, { content: "Pay Ada" }).done;
    const { attributes, status } = named("execute_tool pay");
    assert.equal(attributes["error.type"], "RangeError");
    assert.deepEqual(status, { code: SpanStatusCode.ERROR });
    assert.equal(named("invoke_agent Nova").status.code, SpanStatusCode.UNSET);
    assert.doesNotMatch(JSON.stringify(spans().map(shown)), /account/);
  });

  test("a turn that was stopped ends its model call, and neither has failed", async () => {
    const { turns } = await world({ script: [hang] });
    const turn = turns.submit(chat, { content: "Pay Ada" });
    for await (const { type } of turn.progress()) if (type === "text") turn.stop();
    assert.equal((await turn.done).outcome, "interrupted");
    assert.deepEqual(tree(), ["invoke_agent Nova", " chat m"]);
    assert.ok(spans().every(({ status }) => status.code === SpanStatusCode.UNSET));
    const { attributes } = named("invoke_agent Nova");
    assert.equal(attributes["throughline.turn.stage"], "model");
    assert.equal(attributes["gen_ai.response.finish_reasons"], undefined);
  });

  test("an append that fails is a failed append in a turn that failed there", async () => {
    const { turns, throughline } = await world({});
    const full = new ThroughlineError("the disk is full", { code: "THROUGHLINE_UNAVAILABLE" });
    throughline.chats.logs.append = () => Promise.reject(full);
    await assert.rejects(turns.submit(chat, { content: "Hello" }).done, full);
    assert.deepEqual(tree(true), ["invoke_agent Nova", " throughline.append"]);
    assert.equal(named("invoke_agent Nova").attributes["throughline.turn.stage"], "begin");
    for (const { attributes } of spans()) {
      assert.equal(attributes["error.type"], "THROUGHLINE_UNAVAILABLE");
    }
  });

  test("a model that is not configured is a failed turn without a model", async () => {
    const { turns } = await world({});
    const asked = turns.submit(chat, { content: "Hello", provider: "openai", model: "o" });
    await assert.rejects(asked.done, { code: "THROUGHLINE_CONFIGURATION" });
    assert.deepEqual(named("invoke_agent Nova").attributes, {
      "gen_ai.operation.name": "invoke_agent",
      "gen_ai.agent.name": "Nova",
      "gen_ai.conversation.id": chat,
      "throughline.turn.stage": "begin",
      "error.type": "THROUGHLINE_CONFIGURATION",
    });
  });

  test("nothing that anybody said is in a span, and a turn that was answered before is none", async () => {
    const { turns } = await world({ script: [pays, answers], pay: async () => "paid the rent" });
    const asked = { id: "t1", content: "Pay Ada, please" };
    await turns.submit(chat, asked).done;
    assert.doesNotMatch(JSON.stringify(spans().map(shown)), /please|kind|gladly|Ada|rent/);
    exporter.reset();
    await turns.submit(chat, asked).done;
    assert.deepEqual(tree(true), []);
  });

  test("a model call has what was said when that is asked for", async () => {
    const telemetry = await openTelemetry({ content: true });
    const { turns } = await world({ script: [pays, answers], telemetry });
    await turns.submit(chat, { content: "Pay Ada" }).done;
    const [first, last] = spans().filter(({ name }) => name === "chat m");
    const read = (span: ReadableSpan | undefined, name: string) =>
      JSON.parse(String(span?.attributes[name]));
    const instructions = [{ type: "text", content: "You are kind." }];
    const question = { role: "user", parts: [{ type: "text", content: "Pay Ada" }] };
    const called = { type: "tool_call", id: "c1", name: "pay", arguments: { to: "Ada" } };
    const result = { type: "tool_call_response", id: "c1", response: "paid" };
    assert.deepEqual(read(first, "gen_ai.system_instructions"), instructions);
    assert.deepEqual(read(first, "gen_ai.input.messages"), [question]);
    assert.deepEqual(read(first, "gen_ai.output.messages"), [
      { role: "assistant", parts: [called], finish_reason: "tool_call" },
    ]);
    assert.deepEqual(read(last, "gen_ai.input.messages"), [
      question,
      { role: "assistant", parts: [called] },
      { role: "tool", parts: [result] },
    ]);
    const parts = [{ type: "text", content: "Paid, gladly." }];
    assert.deepEqual(read(last, "gen_ai.output.messages"), [
      { role: "assistant", parts, finish_reason: "stop" },
    ]);
    const others = spans().filter(({ name }) => name !== "chat m");
    assert.doesNotMatch(JSON.stringify(others.map(shown)), /messages|instructions|Ada/);
  });

  test("a responder of one's own begins spans in the turn, wherever it does, and what it adds of content is left out", async () => {
    const model: Responder = {
      ...tracedByItsFramework(mockModel([])),
      async *respond({ span }): AsyncGenerator<ResponderEvent, void> {
        const start = { type: "model", provider: "own", model: "m" } as const;
        const call = context.with(ROOT_CONTEXT, () => span?.begin(start));
        call?.add({ instructions: "You are kind." });
        call?.end("OWN_CODE");
        yield { type: "end", finish: "stop", usage: noUsage };
      },
    };
    const { turns } = await world({ model });
    await turns.submit(chat, { content: "Pay Ada" }).done;
    assert.deepEqual(tree(), ["invoke_agent Nova", " chat m"]);
    assert.deepEqual(named("chat m").attributes, {
      "gen_ai.operation.name": "chat",
      "gen_ai.conversation.id": chat,
      "gen_ai.provider.name": "own",
      "gen_ai.request.model": "m",
      "error.type": "OWN_CODE",
    });
  });

  test("the trace id of a turn is stored with it, with each attempt and retry, and is in its log lines", async () => {
    const lines: { trace_id?: string }[] = [];
    const logger = { ...silentLogger, warn: (fields: object) => void lines.push(fields) };
    const script = [new Error("broken"), answers, answers];
    const { turns, records } = await world({ script, logger });
    await turns.submit(chat, { id: "t1", content: "Pay Ada" }).done;
    await (await turns.answer(chat)).done;
    await (await turns.retry(chat)).done;
    const traces = spans()
      .filter(({ name }) => name === "invoke_agent Nova")
      .map((span) => span.spanContext().traceId);
    assert.equal(new Set(traces).size, 3);
    const stored = (await records()).filter((record) => record["trace_id"] !== undefined);
    assert.deepEqual(column(stored, "trace_id"), traces);
    const kinds = stored.map(({ role, event }) => role ?? event);
    assert.deepEqual(kinds, ["user", "attempt", "retry"]);
    assert.deepEqual(column(lines, "trace_id"), traces.slice(0, 1));
  });

  test("turns, appends and uploads are measured in seconds, appends outside of a turn too", async () => {
    const { turns, throughline } = await world({ telemetry: early });
    await throughline.chats.append(chat, [{ role: "user", content: "Hello" }]);
    assert.deepEqual(tree(true), []);
    await turns.submit(chat, { content: "Pay Ada" }).done;
    const appended = "throughline.append.duration s {}";
    assert.deepEqual(measured, [appended, appended, appended, "throughline.turn.duration s {}"]);
    assert.ok(seconds.every((value) => value >= 0 && value < 10));
  });

  test("an upload is a trace of its own, and one that fails says how", async () => {
    const telemetry = await openTelemetry();
    const load = () => {
      traced("load");
      return import("@aws-sdk/client-s3");
    };
    await using one = await UploadWorld.open({ telemetry, load });
    await trace.getTracer("web").startActiveSpan("POST /feedback", async (span) => {
      await one.save(samplePackage());
      await one.untilNothingPends();
      span.end();
    });
    assert.deepEqual(tree(), ["POST /feedback", "throughline.upload", " load"]);
    const does = { kind: "error", status: 403, code: "AccessDenied" } as const;
    one.server.fail({ operation: "PutObject", times: 1, does });
    await one.save(samplePackage({ number: 1 }));
    await one.untilNothingPends();
    assert.equal(spans()[3]?.attributes["error.type"], "AccessDenied");
    assert.deepEqual(measured, [
      "throughline.upload.duration s {}",
      'throughline.upload.duration s {"error.type":"AccessDenied"}',
      "throughline.upload.duration s {}",
    ]);
  });

  test("an SDK that throws stops neither a turn nor an append", async () => {
    const broken = () => {
      throw new Error("the exporter is broken");
    };
    trace.disable();
    trace.setGlobalTracerProvider({
      getTracer: () => ({ startSpan: broken, startActiveSpan: broken }),
    });
    const { turns, throughline } = await world({ script: [pays, answers] });
    const { outcome } = await turns.submit(chat, { content: "Pay Ada" }).done;
    assert.equal(outcome, "answered");
    await throughline.chats.append(chat, [{ role: "user", content: "Hello" }]);
    trace.disable();
    const spanProcessors = [new SimpleSpanProcessor({ exporter })];
    trace.setGlobalTracerProvider(new TracerProvider({ spanProcessors }));
  });

  describe("beside the telemetry of the AI SDK", () => {
    before(() => registerTelemetry(new AiSdkTelemetry()));

    for (const model of [undefined, tracedByItsFramework(mockModel([pays, answers]))]) {
      test(`${model ? "a responder that the AI SDK traces" : "ours"} has its spans inside the turn, and no call and tool twice`, async () => {
        const { turns } = await world({ model, script: [pays, answers] });
        const { assistant } = await turns.submit(chat, { content: "Pay Ada" }).done;
        assert.equal(assistant?.content, "Paid, gladly.");
        const [turn, ...rest] = tree();
        assert.equal(turn, "invoke_agent Nova");
        assert.ok(rest.every((line) => line.startsWith(" ")));
        const count = (pattern: RegExp) => rest.filter((line) => pattern.test(line)).length;
        const counts = [count(/^ +chat m/), count(/^ +execute_tool pay/)];
        assert.deepEqual(counts, [2, 1], rest.join("\n"));
      });
    }
  });
});

/** All that an exporter sends of a span. */
function shown({ name, attributes, status, events }: ReadableSpan) {
  return { name, attributes, status, events };
}

/** A responder as somebody writes one who has the AI SDK traced already. */
function tracedByItsFramework(model: MockLanguageModelV4): Responder {
  return {
    provider: "bedrock",
    model: "m",
    window: undefined,
    async *respond({ messages, tools }, abortSignal): AsyncGenerator<ResponderEvent, void> {
      const offered = (tools?.tools ?? []).map(({ name, description, parameters, run }) => {
        const execute = (input: unknown, { toolCallId: id }: { toolCallId: string }) =>
          run(input, { id, type: "function", function: { name, arguments: "{}" } });
        return [name, dynamicTool({ description, inputSchema: jsonSchema(parameters), execute })];
      });
      const { stream } = streamText({
        model,
        prompt: messages.at(-1)?.content ?? "",
        tools: Object.fromEntries(offered),
        stopWhen: isStepCount(2),
        abortSignal,
      });
      for await (const part of stream) {
        if (part.type === "text-delta") yield { type: "text", text: part.text };
        if (part.type === "tool-call") {
          const { toolCallId: id, toolName: name } = part;
          const called = { name, arguments: "{}" };
          yield { type: "tool-call", call: { id, type: "function", function: called } };
        }
      }
      yield { type: "end", finish: "stop", usage: noUsage };
    },
  };
}

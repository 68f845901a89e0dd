// OpenTelemetry: the entry point `throughline/opentelemetry`. All names that are emitted are in this file.
import type {
  Attributes,
  Context,
  Histogram,
  MeterProvider,
  Span as OtelSpan,
} from "@opentelemetry/api";
import type { ModelInput } from "../../core/chat/message.ts";
import { systemClock } from "../../core/clock.ts";
import { byDefault, misconfigured, type Options, resolveOptions } from "../../core/options.ts";
import {
  type Span,
  type SpanFacts,
  type SpanStart,
  silentSpan,
  type Telemetry,
} from "../../core/telemetry.ts";

type Api = typeof import("@opentelemetry/api");

export interface OpenTelemetryOptions {
  /**
   * Whether the span of a model call has what was said: the instructions, the messages and the answer.
   * @default false
   */
  readonly content?: boolean | undefined;
}

const options = { content: byDefault(false) } satisfies Options<OpenTelemetryOptions>;

/**
 * Spans and durations for the OpenTelemetry SDK that this process registers, before or after this
 * call. While none is registered, nothing is emitted and nothing of it is stored.
 *
 * @throws ThroughlineError `THROUGHLINE_CONFIGURATION`: `@opentelemetry/api` is not installed, or an
 *   option cannot be used.
 */
export async function openTelemetry(given: OpenTelemetryOptions = {}): Promise<Telemetry> {
  const { content } = resolveOptions("the options of openTelemetry", given, options);
  const api = await loadApi();
  return { begin: (start) => unfailing(() => begin({ api, content }, start), silentSpan) };
}

async function loadApi(): Promise<Api> {
  try {
    return await import("@opentelemetry/api");
  } catch (cause) {
    const isMissing =
      cause instanceof Error && "code" in cause && cause.code === "ERR_MODULE_NOT_FOUND";
    if (!isMissing) throw cause;
    throw misconfigured("OpenTelemetry needs a package: npm install @opentelemetry/api", cause);
  }
}

/** An SDK whose parts throw stops no turn, and no append that is stored. */
function unfailing<T>(call: () => T, otherwise: T): T {
  try {
    return call();
  } catch {
    return otherwise; // what the SDK cannot do is for its own diagnostics to say
  }
}

interface Tracing {
  readonly api: Api;
  readonly content: boolean;
}

/** The span around another one. */
interface Parent {
  readonly context: Context;
  readonly chatId: string | undefined;
}

function begin(tracing: Tracing, start: SpanStart, parent?: Parent): Span {
  const { api } = tracing;
  const tracer = api.trace.getTracer("throughline");
  const around = parent?.context ?? api.context.active();
  // A change of a chat that belongs to nothing would be a trace of its own: it is only measured.
  const isShown = start.type !== "append" || api.trace.getSpan(around) !== undefined;
  const span = isShown
    ? tracer.startSpan(
        nameOf(start),
        {
          kind: api.SpanKind[start.type === "model" ? "CLIENT" : "INTERNAL"],
          // The loop that sends packages was started by one of them, and sends them all.
          root: start.type === "upload",
          attributes: startAttributes(start, parent?.chatId),
        },
        around,
      )
    : api.trace.wrapSpanContext(api.INVALID_SPAN_CONTEXT);
  const context = isShown ? api.trace.setSpan(around, span) : around;
  return new TracedSpan(tracing, start, span, context, parent?.chatId);
}

class TracedSpan implements Span {
  readonly traceId: string | undefined;
  readonly wantsContent: boolean;
  readonly #tracing: Tracing;
  readonly #start: SpanStart;
  readonly #span: OtelSpan;
  readonly #inside: Parent;
  readonly #beganAt = systemClock.monotonic();
  #isOver = false;
  #finish: string | undefined;

  constructor(
    tracing: Tracing,
    start: SpanStart,
    span: OtelSpan,
    context: Context,
    chatId: string | undefined,
  ) {
    const of = span.spanContext();
    this.traceId = tracing.api.isSpanContextValid(of) ? of.traceId : undefined;
    this.wantsContent = tracing.content && span.isRecording();
    this.#tracing = tracing;
    this.#start = start;
    this.#span = span;
    this.#inside = { context, chatId: start.type === "turn" ? start.chatId : chatId };
  }

  begin(start: SpanStart): Span {
    return unfailing(() => begin(this.#tracing, start, this.#inside), silentSpan);
  }

  run<T>(work: () => T): T {
    return this.#tracing.api.context.with(this.#inside.context, work);
  }

  add(facts: SpanFacts): void {
    if (this.#isOver) return;
    this.#finish = facts.finish ?? this.#finish;
    unfailing(() => {
      this.#span.setAttributes(factAttributes(facts));
      if (this.wantsContent) this.#span.setAttributes(contentAttributes(facts, this.#finish));
    }, undefined);
  }

  end(error?: string): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const ms = systemClock.monotonic() - this.#beganAt;
    unfailing(() => this.#tell(ms, error), undefined);
  }

  #tell(ms: number, error: string | undefined): void {
    const { api } = this.#tracing;
    const failure: Attributes = error === undefined ? {} : { "error.type": error };
    if (error !== undefined) {
      this.#span.setAttributes(failure).setStatus({ code: api.SpanStatusCode.ERROR });
    }
    this.#span.end();
    const histogram = histogramOf(api.metrics.getMeterProvider(), this.#start.type);
    histogram?.record(ms / 1_000, failure, this.#inside.context);
  }
}

function nameOf(start: SpanStart): string {
  if (start.type === "turn") return ["invoke_agent", start.agent ?? ""].join(" ").trimEnd();
  if (start.type === "model") return `chat ${start.model}`;
  if (start.type === "tool") return `execute_tool ${start.tool}`;
  return `throughline.${start.type}`;
}

/** The attributes that samplers read. */
function startAttributes(start: SpanStart, chatId: string | undefined): Attributes {
  if (start.type === "turn") {
    return {
      "gen_ai.operation.name": "invoke_agent",
      "gen_ai.agent.name": start.agent,
      "gen_ai.conversation.id": start.chatId,
      "gen_ai.request.model": start.model,
    };
  }
  if (start.type === "model") {
    return {
      "gen_ai.operation.name": "chat",
      "gen_ai.conversation.id": chatId,
      "gen_ai.provider.name": wellKnown[start.provider] ?? start.provider,
      "gen_ai.request.model": start.model,
    };
  }
  if (start.type === "tool") {
    return {
      "gen_ai.operation.name": "execute_tool",
      "gen_ai.tool.name": start.tool,
      "gen_ai.tool.call.id": start.callId,
    };
  }
  return {};
}

/** Providers that the conventions name in another way than we do. */
const wellKnown: { readonly [provider: string]: string | undefined } = { bedrock: "aws.bedrock" };

function factAttributes(facts: SpanFacts): Attributes {
  return {
    "gen_ai.response.finish_reasons": facts.finish === undefined ? undefined : [facts.finish],
    "gen_ai.response.id": facts.responseId,
    "gen_ai.response.model": facts.answeredBy,
    "gen_ai.usage.cache_read.input_tokens": facts.cachedInput,
    "gen_ai.usage.input_tokens": facts.input,
    "gen_ai.usage.output_tokens": facts.output,
    "gen_ai.usage.reasoning.output_tokens": facts.reasoning,
    "throughline.freshness.reason": facts.freshness,
    "throughline.restart.type": facts.restart,
    "throughline.turn.stage": facts.stage,
  };
}

/** What was said, in the JSON of the GenAI conventions. Only where somebody asked for it. */
function contentAttributes(facts: SpanFacts, finish = "error"): Attributes {
  const { instructions, asked, answer } = facts;
  const reason = finishReasons[finish] ?? finish;
  return {
    "gen_ai.system_instructions":
      instructions && JSON.stringify([{ type: "text", content: instructions }]),
    "gen_ai.input.messages": asked && JSON.stringify(asked.map(messageOf)),
    "gen_ai.output.messages":
      answer && JSON.stringify([{ ...messageOf(answer), finish_reason: reason }]),
  };
}

/** Those that the schema of an answer names in another way than providers do. */
const finishReasons: { readonly [finish: string]: string | undefined } = {
  "content-filter": "content_filter",
  "tool-calls": "tool_call",
  other: "error",
};

function messageOf(message: ModelInput) {
  const { role, content } = message;
  if (role === "tool") {
    const part = { type: "tool_call_response", id: message.toolCallId, response: content };
    return { role, parts: [part] };
  }
  const text = content === "" ? [] : [{ type: "text", content }];
  if (role === "user") return { role, parts: text };
  const calls = (message.toolCalls ?? []).map(({ id, function: called }) => ({
    type: "tool_call",
    id,
    name: called.name,
    arguments: parsed(called.arguments),
  }));
  return { role, parts: [...text, ...calls] };
}

/** As the model wrote it where that is not JSON. */
function parsed(written: string): unknown {
  try {
    return JSON.parse(written);
  } catch {
    return written;
  }
}

/** In seconds: an append takes some milliseconds, an answer up to minutes. */
const buckets = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120,
];

const measured: { readonly [type in SpanStart["type"]]?: string } = {
  turn: "How long turns take, from when a turn has its chat to its last append.",
  append: "How long it takes until records of a chat are durable.",
  upload: "How long it takes to send a package to a bucket, or to remove it there, each attempt.",
};

/** The histograms of each provider that was registered. */
const histograms = new WeakMap<MeterProvider, Map<string, Histogram>>();

function histogramOf(provider: MeterProvider, type: SpanStart["type"]): Histogram | undefined {
  const description = measured[type];
  if (description === undefined) return undefined;
  const known = histograms.get(provider) ?? new Map<string, Histogram>();
  histograms.set(provider, known);
  const options = { description, unit: "s", advice: { explicitBucketBoundaries: buckets } };
  const histogram =
    known.get(type) ??
    provider.getMeter("throughline").createHistogram(`throughline.${type}.duration`, options);
  known.set(type, histogram);
  return histogram;
}

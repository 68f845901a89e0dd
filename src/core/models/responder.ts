import type { ModelInput, ToolCall } from "../chat/message.ts";
import type { JsonObject } from "../json.ts";
import type { Span } from "../telemetry.ts";
import type { OfferedModel } from "./model-name.ts";

/** What a model is asked with. The stable part comes first, so that prompt caches keep working. */
export interface ResponderRequest {
  /** The persona, then the facts to remember: the same bytes turn after turn, until a fact changes. */
  readonly instructions: string;
  /** Whole turns, legal for any model, ending with the user's newest message. */
  readonly messages: readonly ModelInput[];
  /**
   * What changes from turn to turn (time away, announcements, restart context). Data, already fenced;
   * goes right before the newest user message, after the cached prefix.
   */
  readonly context?: string | undefined;
  /** The provider's own session id to resume, where it has one. */
  readonly providerSessionId?: string | undefined;
  /** What the model may do beside speaking. A responder whose model has no use for tools ignores it. */
  readonly tools?: OfferedTools | undefined;
  /** Called before a wait, after which the provider is called again. Nothing has come of the call. */
  readonly onRetry?: ((retry: Retry) => void) | undefined;
  /**
   * The span of the turn. A responder begins one in it for each call of a model, and for each tool that
   * it runs; not where its framework traces them itself.
   */
  readonly span?: Span | undefined;
}

/** A call that failed in a way that may pass, such as a rate limit, and is made again. */
export interface Retry {
  /** Why: one sentence that is safe to show. */
  readonly reason: string;
  /** The provider's own words, as in `ResponderError`. */
  readonly detail?: string | undefined;
  /** The number of the call that follows the wait: 2 for the first retry. */
  readonly attempt: number;
  readonly waitMs: number;
}

/** Tools that a model is offered, the same ones turn after turn. */
export interface OfferedTools {
  /** Goes behind the persona, and only to a model that gets the tools. */
  readonly instructions: string;
  readonly tools: readonly ResponderTool[];
}

export interface ResponderTool {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of an object. */
  readonly parameters: JsonObject;
  /**
   * Does what the model asked for; the answer continues when it resolves. What is wrong with the
   * arguments is told to the model: a rejection is told to it as an error without a reason. It starts
   * once the `tool-call` event was taken and stored, so a responder yields that event first.
   *
   * @returns what the model is told.
   */
  run(args: unknown, call: ToolCall): Promise<string>;
}

/** What a model is told of a tool that threw: the message of the error may hold anything. */
export const toolFailed = "The tool failed.";

/** A tool as a program offers it in its turns. */
export interface TurnTool extends Omit<ResponderTool, "run"> {
  /**
   * Whether a second run with the same `key` does no harm. If the process ends while the tool runs and
   * the turn is taken up again, a repeatable call is run again with its key. Any other call is not:
   * the model is told that its outcome is unknown.
   *
   * @default false
   */
  readonly repeatable?: boolean | undefined;
  /**
   * As `ResponderTool.run`. The call is stored before this runs, and what it returns is stored before
   * the model gets it.
   *
   * @param key the same when this call is run again, and different for every other call of every chat.
   */
  run(args: unknown, call: ToolCall, key: string): Promise<string>;
}

/** What a program lets the models of its turns do beside speaking. */
export interface TurnTools extends Omit<OfferedTools, "tools"> {
  readonly tools: readonly TurnTool[];
}

/** What an attempt cost. `undefined` counts are unknown, not 0. */
export interface Usage {
  readonly inputTokens: number | undefined;
  readonly outputTokens: number | undefined;
  readonly cachedInputTokens?: number | undefined;
  /** US dollars, from the configured prices. `undefined`: the model has no price, or a count is unknown. */
  readonly costUsd: number | undefined;
}

export const finishReasons = [
  "stop",
  "length",
  "tool-calls",
  "content-filter",
  "error",
  "other",
] as const;
export type FinishReason = (typeof finishReasons)[number];

export type ResponderEvent =
  | { readonly type: "text"; readonly text: string }
  /** What the model thinks before it speaks or calls a tool, where its provider sends that. */
  | { readonly type: "reasoning"; readonly text: string }
  | { readonly type: "tool-call"; readonly call: ToolCall }
  | {
      readonly type: "tool-result";
      readonly toolCallId: string;
      readonly toolName: string;
      readonly content: string;
      readonly isError: boolean;
    }
  /** The provider named the session (thread, response) that a next turn can resume. */
  | { readonly type: "provider-session"; readonly id: string }
  /** Artefacts that only this model understands; stored beside the message. */
  | { readonly type: "provider-data"; readonly data: JsonObject }
  /** Always last unless the stream throws. `"error"` and `"other"` mean that the text is partial. */
  | {
      readonly type: "end";
      readonly finish: FinishReason;
      readonly usage: Usage;
      /** The model that really answered, when the provider says so. */
      readonly model?: string;
    };

/** One model that can answer. Stateless: everything that it knows is in the request. */
export interface Responder {
  /** Name of the provider's bucket: `ollama`, `openai`, `anthropic`, `bedrock`, `offline`, ... */
  readonly provider: string;
  readonly model: string;
  /** Context window in tokens; `undefined` when unknown. */
  readonly window: number | undefined;
  /**
   * Whether the model takes files of this media type: then those of a request come with their bytes.
   * Asked only when a message has such a file, and never for text, which is in the message's content.
   *
   * @default it takes none
   */
  takes?(type: string, signal: AbortSignal): boolean | Promise<boolean>;
  /**
   * Streams one answer. The iteration throws a `ResponderError` when the model cannot answer or the
   * stream breaks, and `signal.reason` when it is aborted; what was yielded before stays valid. Past
   * `answerLimits` the rest is not read, and the signal fires.
   */
  respond(request: ResponderRequest, signal: AbortSignal): AsyncIterable<ResponderEvent>;
}

/** The models that can be asked. */
export interface Responders {
  /** What a new period runs on. */
  readonly standard: { readonly provider: string; readonly model: string };
  /** The providers that may be asked. @default that of `standard` */
  readonly providers?: readonly string[];
  /** What can be chosen. @default the model of `standard` */
  list?(options?: ListOptions): Promise<ModelList>;
  /** @throws ThroughlineError `THROUGHLINE_INVALID` or `THROUGHLINE_CONFIGURATION`: unavailable. */
  get(provider: string, model: string): Promise<Responder>;
}

/** The models of one provider that may be asked. */
export interface ProviderModels {
  readonly provider: string;
  /** The configured one first, then the provider's own list in its order, or the newest first. */
  readonly models: readonly OfferedModel[];
  /** Why the provider's own list is missing, in one sentence. */
  readonly error?: string | undefined;
}

export interface ListOptions {
  /** Asks the providers also where their lists are kept. @default false */
  readonly again?: boolean | undefined;
  /** Looks for an Ollama on this machine, if no model was named at the start. @default false */
  readonly ollama?: boolean | undefined;
}

/** What can be chosen. */
export interface ModelList {
  /** What a new session runs on. */
  readonly standard: { readonly provider: string; readonly model: string };
  readonly providers: readonly ProviderModels[];
}

/** Why a model did not answer. The message is safe to show: no key, no text of the conversation. */
export class ResponderError extends Error {
  override readonly name = "ResponderError";
  /**
   * `session_refused`: the provider does not know the session id; ask once more without it.
   * `unavailable`: not reachable, overloaded, rate limited. `refused`: key, model or request.
   * `too_long`: the request is longer than the model's window; ask again with less.
   */
  readonly kind: "session_refused" | "unavailable" | "refused" | "too_long";
  /** The model's window in tokens, where a `too_long` states it. */
  readonly window: number | undefined;
  /** What of the request its words blame: asked without that, the model may answer. */
  readonly refuses: "tools" | "thinking" | undefined;
  readonly usage: Usage | undefined;
  /** The provider's own words: one line, bounded, without what looks like a key. Not for logs. */
  readonly detail: string | undefined;
  /** Of the connection, for logs: `ECONNRESET`. */
  readonly errno: string | undefined;

  constructor(
    message: string,
    options: Pick<ResponderError, "kind"> &
      Partial<Pick<ResponderError, "window" | "refuses" | "usage" | "detail" | "errno" | "cause">>,
  ) {
    super(message, { cause: options.cause });
    this.kind = options.kind;
    this.window = options.window;
    this.refuses = options.refuses;
    this.usage = options.usage;
    this.detail = options.detail;
    this.errno = options.errno;
  }
}

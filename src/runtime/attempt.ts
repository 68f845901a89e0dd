import type { Clock } from "../clock.ts";
import { errorName } from "../errors.ts";
import type { JsonObject } from "../json.ts";
import type { Logger } from "../logger.ts";
import {
  answerLimits,
  fitText,
  isStorableCall,
  isStorableResult,
  jsonBytes,
  storableExtras,
} from "./answer-limits.ts";
import {
  type FinishReason,
  type Responder,
  ResponderError,
  type ResponderEvent,
  type ResponderRequest,
  type Retry,
  type Usage,
} from "./responder.ts";
import type { Turn } from "./turn.ts";
import type { Ended, ToolMessage } from "./turn-records.ts";

interface AttemptPorts {
  readonly turn: Turn;
  readonly responder: Responder;
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface Asked extends Ended {
  /** Why the answer is not whole: one sentence that is safe to show. */
  readonly reason?: string;
  readonly detail?: string | undefined;
}

const noUsage: Usage = { inputTokens: 0, outputTokens: 0, costUsd: 0 };
const unknownUsage: Usage = {
  inputTokens: undefined,
  outputTokens: undefined,
  costUsd: undefined,
};

/**
 * One answer as it comes in, over at most two runs. It is cut short where more of it could not be
 * stored; what else a model sends that cannot be is left out, with a warning.
 */
export class Attempt {
  readonly #ports: AttemptPorts;
  readonly #viewFrom: number | undefined;
  readonly #toolMessages: ToolMessage[] = [];
  /** Calls that are left out: what came of them is left out too. */
  readonly #lostCalls = new Set<string>();
  readonly #beganAt: number;
  #firstWordMs: number | undefined;
  #text = "";
  #textBytes = 0;
  #toolBytes = 0;
  #finish: FinishReason | undefined;
  #model: string | undefined;
  #usage: Usage = noUsage;
  #providerSessionId: string | undefined;
  #providerData: JsonObject | undefined;

  constructor(ports: AttemptPorts, viewFrom: number | undefined) {
    this.#ports = ports;
    this.#viewFrom = viewFrom;
    this.#beganAt = ports.clock.monotonic();
  }

  /** Nothing came yet, so that asking again repeats nothing. */
  get isSilent(): boolean {
    return this.#text === "" && this.#toolMessages.length === 0;
  }

  /** @returns what broke it off, if anything did. */
  async run(request: ResponderRequest): Promise<unknown> {
    const { turn, responder } = this.#ports;
    const reader = new AbortController();
    const signal = AbortSignal.any([turn.signal, reader.signal]);
    const onRetry = (retry: Retry) => turn.add({ ...retry, type: "retrying" });
    try {
      const events = responder.respond({ ...request, onRetry }, signal);
      for await (const event of events) this.#take(event);
      return undefined;
    } catch (error) {
      // A provider that does not know its session has used nothing.
      const isRefused = error instanceof ResponderError && error.kind === "session_refused";
      if (error instanceof ResponderError && error.usage !== undefined && !isRefused) {
        this.#usage = sum(this.#usage, error.usage);
      }
      return error ?? new Error("the model's stream broke");
    } finally {
      reader.abort();
    }
  }

  /** @throws ResponderError: there is no room for all of it. */
  #take(event: ResponderEvent): void {
    if (event.type === "text") this.#addText(event.text);
    else if (event.type === "tool-call" || event.type === "tool-result") this.#addTool(event);
    else if (event.type === "provider-session") this.#providerSessionId = event.id;
    else if (event.type === "provider-data") this.#providerData = event.data;
    else {
      this.#finish = event.finish;
      this.#model = event.model;
      this.#usage = sum(this.#usage, event.usage);
    }
  }

  #addText(text: string): void {
    const kept = fitText(text, answerLimits.textBytes - this.#textBytes);
    this.#text += kept;
    this.#textBytes += jsonBytes(kept);
    this.#firstWordMs ??= this.#elapsedMs();
    this.#ports.turn.add({ type: "text", text: kept });
    if (kept.length < text.length) throw this.#tooLong();
  }

  #addTool(event: Extract<ResponderEvent, { type: "tool-call" | "tool-result" }>): void {
    const message = event.type === "tool-call" ? this.#call(event) : this.#result(event);
    if (message === undefined) return;
    const bytes = Buffer.byteLength(JSON.stringify(message));
    const isRoom = this.#toolBytes + bytes <= answerLimits.toolBytes;
    if (!isRoom || this.#toolMessages.length >= answerLimits.toolMessages) throw this.#tooLong();
    this.#toolMessages.push(message);
    this.#toolBytes += bytes;
    if (message.type === "result") return;
    this.#text = "";
    this.#textBytes = 0;
  }

  #call({ call }: Extract<ResponderEvent, { type: "tool-call" }>): ToolMessage | undefined {
    if (isStorableCall(call)) return { type: "call", text: this.#text, call };
    this.#lostCalls.add(call.id);
    this.#warn({ lost: ["call"] }, lostSays);
    return undefined;
  }

  #result(event: Extract<ResponderEvent, { type: "tool-result" }>): ToolMessage | undefined {
    if (this.#lostCalls.has(event.toolCallId)) return undefined;
    const isNamed = isStorableResult(event);
    const content = fitText(event.content, answerLimits.textBytes);
    if (isNamed && content === event.content) return { ...event, type: "result" };
    this.#warn({ lost: ["result"] }, lostSays);
    return isNamed ? { ...event, type: "result", content } : undefined;
  }

  #tooLong(): ResponderError {
    const { provider, model } = this.#ports.responder;
    const says = `${provider}/${model} wrote more than can be kept: its answer was cut short`;
    return new ResponderError(says, { kind: "refused", usage: unknownUsage });
  }

  #elapsedMs(): number {
    return Math.round(this.#ports.clock.monotonic() - this.#beganAt);
  }

  #warn(fields: object, says: string): void {
    const { responder, turn, logger } = this.#ports;
    const where = { chat: turn.chatId, turn: turn.id, provider: responder.provider };
    logger.warn({ ...where, ...fields }, says);
  }

  result(error: unknown): Asked {
    const { responder, turn } = this.#ports;
    const isCut = this.#finish === undefined || ["error", "other"].includes(this.#finish);
    const isStopped = turn.signal.aborted && isCut;
    const isFailed = !isStopped && (error !== undefined || isCut);
    const known = error instanceof ResponderError ? error : undefined;
    if (isFailed) {
      const fields = { error: errorName(error), errno: known?.errno };
      this.#warn(fields, "the model did not finish its answer");
    }
    const reason = isFailed ? reasonOf(error) : isStopped ? "The answer was stopped." : undefined;
    const { kept, lost } = storableExtras({
      ...{ usage: this.#usage, model: this.#model },
      ...{ providerData: this.#providerData, providerSessionId: this.#providerSessionId },
    });
    if (lost.length > 0) this.#warn({ lost }, lostSays);
    return {
      ...kept,
      text: this.#text,
      toolMessages: this.#toolMessages,
      outcome: isFailed ? "failed" : isStopped ? "interrupted" : "answered",
      partialReason: isFailed ? "error" : isStopped ? "stopped" : undefined,
      provider: responder.provider,
      model: kept.model ?? responder.model,
      viewFrom: this.#viewFrom,
      latencyMs: this.#elapsedMs(),
      firstWordMs: this.#firstWordMs,
      ...(reason === undefined ? {} : { reason }),
      detail: isFailed ? known?.detail : undefined,
    };
  }
}

const lostSays = "a part of what the model sent cannot be stored; its answer is";

/** Only a `ResponderError` has a message that is safe to show. */
function reasonOf(error: unknown): string {
  if (error instanceof ResponderError) return error.message;
  return "The model's answer broke off.";
}

function sum(a: Usage, b: Usage): Usage {
  const add = (x: number | undefined, y: number | undefined) =>
    x === undefined || y === undefined ? undefined : x + y;
  return {
    inputTokens: add(a.inputTokens, b.inputTokens),
    outputTokens: add(a.outputTokens, b.outputTokens),
    ...(b.cachedInputTokens === undefined ? {} : { cachedInputTokens: b.cachedInputTokens }),
    costUsd: add(a.costUsd, b.costUsd),
  };
}

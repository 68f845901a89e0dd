import { errorName } from "../errors.ts";
import type { JsonObject } from "../json.ts";
import { thrown } from "../logger.ts";
import { unknownUsage } from "../models/prices.ts";
import { refusalIn } from "../models/provider-words.ts";
import {
  type FinishReason,
  ResponderError,
  type ResponderEvent,
  type ResponderRequest,
  type Retry,
  type Usage,
} from "../models/responder.ts";
import { answerLimits, fitText, jsonBytes } from "./answer-limits.ts";
import type { Ended } from "./ended.ts";
import { BrokenContract, checkEvent, eventsOf, reasonOf } from "./responder-contract.ts";
import type { Asking } from "./run.ts";
import type { TurnSteps } from "./turn-steps.ts";

/** Where the view of a request begins, and its tokens as they are estimated. */
type Sent = Pick<Ended, "viewFrom" | "estimated">;

type ToolCallEvent = Extract<ResponderEvent, { readonly type: "tool-call" }>;
type ToolResultEvent = Extract<ResponderEvent, { readonly type: "tool-result" }>;

const noUsage: Usage = { inputTokens: 0, outputTokens: 0, costUsd: 0 };

/**
 * One answer as it comes in, over the runs that it takes. It is cut short where more of it could not be
 * stored.
 */
export class Attempt {
  readonly #running: Pick<Asking, "turn" | "responder" | "clock" | "logger">;
  /** Where calls and results are stored as they come. */
  readonly #steps: TurnSteps;
  #sent: Sent | undefined;
  readonly #beganAt: number;
  #firstWordMs: number | undefined;
  /** Since the last call that is stored. */
  #text = "";
  #textBytes = 0;
  #reasoning = "";
  #reasoningBytes = 0;
  #finish: FinishReason | undefined;
  #model: string | undefined;
  #usage: Usage = noUsage;
  #providerSessionId: string | undefined;
  #providerData: JsonObject | undefined;

  constructor(running: Pick<Asking, "turn" | "responder" | "clock" | "logger">, steps: TurnSteps) {
    this.#running = running;
    this.#steps = steps;
    this.#beganAt = running.clock.monotonic();
  }

  /** Nothing came yet, so that asking again repeats nothing. */
  get isSilent(): boolean {
    return this.#text === "" && this.#reasoning === "" && !this.#steps.isUsed;
  }

  /** @returns what broke it off, if anything did. */
  async run(request: ResponderRequest, sent: Sent): Promise<unknown> {
    this.#sent = sent;
    const steps = this.#steps;
    const { turn, responder } = this.#running;
    const reader = new AbortController();
    const signal = AbortSignal.any([turn.signal, reader.signal, steps.signal]);
    const onRetry = (retry: Retry) => turn.add({ ...retry, type: "retrying" });
    try {
      for await (const event of eventsOf(responder.respond?.({ ...request, onRetry }, signal))) {
        steps.watch(true);
        checkEvent(event);
        // A responder continues once its call is stored; words wait for nothing.
        if (event.type === "tool-call") await this.#addCall(event.call);
        else if (event.type === "tool-result") await steps.result(event);
        else this.#take(event);
        steps.watch(false);
      }
      if (this.#finish !== undefined || signal.aborted) return undefined;
      throw new BrokenContract(
        'ends without yielding its last event, { type: "end", finish, usage }',
      );
    } catch (thrownHere) {
      reader.abort(); // what is left of it
      const error = refusalIn(thrownHere, `${responder.provider}/${responder.model}`) ?? thrownHere;
      // Such a request used nothing, and is repeated in another form.
      const usedNothing = ["session_refused", "too_long"];
      if (error instanceof ResponderError && !usedNothing.includes(error.kind)) {
        this.#usage = sum(this.#usage, error.usage ?? noUsage);
      }
      return error ?? new Error("the model's stream broke");
    }
  }

  /** @throws ResponderError: there is no room for all of it. */
  #take(event: Exclude<ResponderEvent, ToolCallEvent | ToolResultEvent>): void {
    if (event.type === "text") this.#addText(event.text);
    else if (event.type === "reasoning") this.#addReasoning(event.text);
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
    this.#running.turn.add({ type: "text", text: kept });
    if (kept.length < text.length) throw this.#tooLong();
  }

  /** What is too long is neither shown nor stored: the answer itself is whole without it. */
  #addReasoning(text: string): void {
    const kept = fitText(text, answerLimits.reasoningBytes - this.#reasoningBytes);
    const isCut = kept.length < text.length;
    // No later piece is added behind the gap.
    this.#reasoningBytes = isCut
      ? answerLimits.reasoningBytes
      : this.#reasoningBytes + jsonBytes(kept);
    if (kept === "") return;
    this.#reasoning += kept;
    this.#running.turn.add({ type: "reasoning", text: kept });
  }

  /** @throws ResponderError: there is no room for another one. */
  async #addCall(call: ToolCallEvent["call"]): Promise<void> {
    const steps = this.#steps;
    const bytes = jsonBytes(call);
    const before = { text: this.#text, reasoning: this.#reasoning, data: this.#dataBeside(bytes) };
    if (bytes > this.#room || !steps.hasRoomFor(call, before)) throw this.#tooLong();
    await steps.call(call, before);
    this.#text = "";
    this.#textBytes = 0;
    this.#reasoning = "";
    this.#reasoningBytes = 0;
    this.#providerData = undefined;
  }

  /** The bytes that are left in a record for a call or a provider's data. */
  get #room(): number {
    const { recordBytes, dataBytes } = answerLimits;
    return Math.min(dataBytes, recordBytes - this.#textBytes - this.#reasoningBytes);
  }

  /**
   * What the provider wants to see again, for the model that was asked: it may answer by another name. The
   * provider does without what is too long.
   */
  #dataBeside(bytes: number): JsonObject | undefined {
    const { provider, model } = this.#running.responder;
    const data = this.#providerData;
    if (data === undefined || jsonBytes(data) > this.#room - bytes) return undefined;
    return { ...data, provider, model };
  }

  #tooLong(): ResponderError {
    const { provider, model } = this.#running.responder;
    const says = `${provider}/${model} wrote more than can be kept: its answer was cut short`;
    return new ResponderError(says, { kind: "refused", usage: unknownUsage });
  }

  #elapsedMs(): number {
    return Math.round(this.#running.clock.monotonic() - this.#beganAt);
  }

  #where(): object {
    const { responder, turn } = this.#running;
    const { traceId: trace_id } = turn.span;
    return { chat: turn.chatId, turn: turn.id, trace_id, provider: responder.provider };
  }

  result(error: unknown): Ended {
    const { responder, turn } = this.#running;
    const isCut = this.#finish === undefined || ["error", "other"].includes(this.#finish);
    const isStopped = turn.signal.aborted && isCut;
    const isBroken = error !== undefined || isCut;
    const isBlank = this.#text.trim() === "";
    const limit = limits.get(this.#finish);
    // Calls alone may be the answer, or what was said before them. Else the person would see nothing.
    const isToolsAlone = this.#finish === "tool-calls" && this.#steps.isUsed;
    const isSilentEnd = limit !== undefined || (!this.#steps.hasWords && !isToolsAlone);
    const isEmpty = !isBroken && isBlank && isSilentEnd;
    const isFailed = !isStopped && (isBroken || isEmpty);
    const known = error instanceof ResponderError ? error : undefined;
    const name = `${responder.provider}/${responder.model}`;
    if (isFailed && (error === undefined || known !== undefined)) {
      const fields = { ...this.#where(), error: errorName(error), errno: known?.errno };
      this.#running.logger.warn(fields, "the model did not finish its answer");
    } else if (isFailed) {
      this.#running.logger.error({ ...this.#where(), ...thrown(error) }, "the responder threw");
    }
    const said = isEmpty ? `${name} answered without a word` : `${name} did not end its answer`;
    const atLimit = limit && `${said}: ${limit.says}`;
    let reason = isStopped ? "The answer was stopped." : atLimit;
    if (isFailed) reason = isEmpty ? (atLimit ?? said) : reasonOf(error, name);
    return {
      usage: this.#usage,
      // A session that ends with an answer that is not stored must not be resumed.
      providerSessionId: isEmpty ? undefined : this.#providerSessionId,
      providerData: this.#dataBeside(0),
      text: isBlank ? "" : this.#text,
      reasoning: this.#reasoning,
      usedTools: this.#steps.isUsed,
      outcome: isFailed ? "failed" : isStopped ? "interrupted" : "answered",
      partialReason: isFailed ? "error" : isStopped ? "stopped" : limit?.partialReason,
      provider: responder.provider,
      model: this.#model ?? responder.model,
      ...this.#sent,
      latencyMs: this.#elapsedMs(),
      firstWordMs: this.#firstWordMs,
      reason,
      detail: isFailed ? known?.detail : undefined,
      finish: this.#finish,
    };
  }
}

/** Ends of an answer that is not whole, though its model ended it. */
const limits = new Map<
  FinishReason | undefined,
  { readonly partialReason: "length" | "content_filter"; readonly says: string }
>([
  ["length", { partialReason: "length", says: "it reached its limit of tokens" }],
  ["content-filter", { partialReason: "content_filter", says: "a content filter stopped it" }],
]);

function sum(a: Usage, b: Usage): Usage {
  const add = (x: number | undefined, y: number | undefined) =>
    x === undefined || y === undefined ? undefined : x + y;
  return {
    inputTokens: add(a.inputTokens, b.inputTokens),
    outputTokens: add(a.outputTokens, b.outputTokens),
    cachedInputTokens: b.cachedInputTokens,
    costUsd: add(a.costUsd, b.costUsd),
  };
}

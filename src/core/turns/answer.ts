// One answer of a model: its words as they come, each call stored before its tool runs, each result before
// the model gets it.

import { historyView } from "../chat/history.ts";
import type { ModelInput, StoredMessage } from "../chat/message.ts";
import type { MessageInput } from "../chat/message-input.ts";
import { answerId, stepPrefix } from "../chat/record-ids.ts";
import type { Transaction } from "../chat/transaction.ts";
import { fitText, type JsonObject, jsonBytes } from "../json.ts";
import { thrown } from "../logger.ts";
import { sumUsage, unknownUsage } from "../models/prices.ts";
import { refusalIn } from "../models/provider-words.ts";
import {
  type FinishReason,
  type OfferedTools,
  type Responder,
  ResponderError,
  type ResponderEvent,
  type ResponderRequest,
  type ResponderTool,
  type Retry,
  type TurnTool,
  type TurnTools,
  toolFailed,
  type Usage,
} from "../models/responder.ts";
import { sha256 } from "../sha256.ts";
import { inSpan } from "../telemetry.ts";
import { until } from "../timers.ts";
import { answeredBy, type Ended } from "./records.ts";
import { BrokenContract, checkEvent, eventsOf, isUsage, reasonOf } from "./responder-contract.ts";
import type { Prompt } from "./run.ts";
import { TurnLog } from "./turn-log.ts";

/**
 * The most that an answer may be: past it the rest is not read. A result of a tool is cut at the same length.
 * Bytes are those of JSON, in which a control character takes six.
 */
export const answerLimits = {
  /** A text with the reasoning before it and what stands beside it: one record of 1 MiB. */
  messageBytes: 1_000 * 1024,
  toolCalls: 200,
} as const;

/** How long a responder may be silent whose tool waits for its call, in milliseconds: it awaits the tool. */
const silentMs = 1_000;

type ToolCall = Extract<ResponderEvent, { readonly type: "tool-call" }>["call"];
type ToolResult = Extract<ResponderEvent, { readonly type: "tool-result" }>;

/** A call that is stored. */
interface Step {
  readonly number: number;
  readonly call: ToolCall;
  isStarted: boolean;
  hasResult: boolean;
}

/** An answer as it comes in, over the requests that it takes, behind the calls and results of other attempts. */
export class Answer {
  readonly #prompt: Prompt;
  readonly #responder: Responder;
  readonly #beganAt: number;
  #firstWordMs: number | undefined;
  // What came since the last call that is stored, and its bytes.
  #text = "";
  #reasoning = "";
  #data: JsonObject | undefined;
  #bytes = 0;
  #sessionId: string | undefined;
  #end: Extract<ResponderEvent, { readonly type: "end" }> | undefined;
  #usage: Usage | undefined;

  readonly #steps: Step[] = [];
  /** Calls and results, as they are stored. */
  readonly #stored: StoredMessage[] = [];
  #lastNumber = 0;
  #isUsed = false;
  #isOver = false;
  /** Fires when one could not be stored: then nothing more may be asked of the model. */
  readonly #broken = new AbortController();
  #storing: Promise<unknown> = Promise.resolve();
  /** Resolves with the next call that is stored, and at the end. */
  #wake = Promise.withResolvers<true>();
  /** The events that came, and whether the last of them is being stored. */
  #events = 0;
  #isStoring = false;

  constructor(prompt: Prompt, responder: Responder) {
    this.#prompt = prompt;
    this.#responder = responder;
    this.#beganAt = prompt.clock.monotonic();
  }

  /**
   * Continues what other attempts stored. A call that has no result runs again, where its tool says that
   * this does no harm. The other ones stay without a result.
   */
  async resume(tools: TurnTools | undefined): Promise<void> {
    const { chats, turn, begun } = this.#prompt;
    const log = await TurnLog.read(chats, turn.chatId, begun.user);
    const { steps, lastNumber } = log.stepsOf(turn);
    this.#lastNumber = lastNumber;
    for (const { number, message } of steps) {
      this.#stored.push(message);
      const [call] = message.tool_calls ?? [];
      const answered = this.#steps.find((each) => each.number === number);
      if (call !== undefined) {
        this.#steps.push({ number, call, isStarted: true, hasResult: false });
      } else if (answered !== undefined) answered.hasResult = true;
    }
    for (const step of this.#steps.filter(({ hasResult }) => !hasResult)) {
      await this.#repeat(step, tools);
    }
  }

  /** Nothing came yet, so that asking again repeats nothing. */
  get isSilent(): boolean {
    return this.#text === "" && this.#reasoning === "" && !this.#isUsed;
  }

  /** What is stored of the turn so far, for the model that continues it. */
  get steps(): readonly ModelInput[] {
    if (this.#stored.length === 0) return [];
    // A retry that is not finished and a period that ended hide them from other turns alone.
    const shown = this.#stored.map(({ hidden: _, replaced: __, ...step }) => {
      return { ...step, id: `${step.seq}` };
    });
    const records = [this.#prompt.begun.user, ...shown] as StoredMessage[];
    return historyView(records, this.#responder).messages.slice(1);
  }

  /** The tools as a responder gets them: each run waits until its call is stored. */
  offer({ instructions, tools }: TurnTools): OfferedTools {
    const offered = tools.map((tool): ResponderTool => {
      const { name, description, parameters } = tool;
      const run = async (args: unknown, { id }: ToolCall) =>
        this.#run(tool, await this.#toStart(id, name), args);
      return { name, description, parameters, run };
    });
    return { instructions, tools: offered };
  }

  /** Waits until a call is stored. @throws BrokenContract: its responder awaits what waits for it. */
  async #toStart(callId: string, tool: string): Promise<Step> {
    for (let events = this.#events; ; ) {
      const isIt = ({ call, isStarted, hasResult }: Step) =>
        call.id === callId && !isStarted && !hasResult;
      const step = this.#steps.find(isIt);
      if (step !== undefined) {
        step.isStarted = true;
        return step;
      }
      if (this.#isOver) throw new Error("the call could not be stored");
      const { timers } = this.#prompt;
      if (await until(this.#wake.promise, { ms: silentMs, timers })) continue;
      if (!this.#isStoring && events === this.#events) {
        const says = `calls \`run\` of the tool ${tool} before it yields its \`tool-call\` event`;
        throw new BrokenContract(says);
      }
      events = this.#events;
    }
  }

  async #run(tool: TurnTool, step: Step, args: unknown): Promise<string> {
    const { turn, logger } = this.#prompt;
    const name = [turn.chatId, `${stepPrefix("call", turn)}${step.number}`];
    const key = sha256(JSON.stringify(name)).toString("hex");
    let result: unknown;
    try {
      result = await tool.run(args, step.call, key);
    } catch (error) {
      const where = { chat: turn.chatId, turn: turn.id, tool: tool.name };
      logger.error({ ...where, ...thrown(error) }, "a tool threw");
      await this.#storeResult(step, { content: toolFailed, isError: true });
      throw error;
    }
    const content = typeof result === "string" ? result : (JSON.stringify(result) ?? "");
    await this.#storeResult(step, { content, isError: false });
    return content;
  }

  async #repeat(step: Step, tools: TurnTools | undefined): Promise<void> {
    const { signal, span } = this.#prompt.turn;
    const { name, arguments: written } = step.call.function;
    const tool = tools?.tools.find((each) => each.name === name);
    const args = parsed(written);
    if (tool?.repeatable !== true || args === undefined || signal.aborted) return;
    const start = { type: "tool", tool: name, callId: step.call.id } as const;
    const run = inSpan(span, start, () => this.#run(tool, step, args));
    await until(Promise.allSettled([run]), { signal });
    this.#broken.signal.throwIfAborted();
  }

  /** Asks the model once, and takes what it says. @returns what broke the answer off, if anything did. */
  async ask(request: ResponderRequest): Promise<unknown> {
    const { turn } = this.#prompt;
    const { provider, model } = this.#responder;
    const reader = new AbortController();
    const signal = AbortSignal.any([turn.signal, reader.signal, this.#broken.signal]);
    const onRetry = (retry: Retry) => turn.add({ ...retry, type: "retrying" });
    try {
      const stream = this.#responder.respond?.({ ...request, onRetry }, signal);
      for await (const event of eventsOf(stream)) {
        this.#events++;
        this.#isStoring = true;
        checkEvent(event);
        // A responder continues once its call is stored; words wait for nothing.
        if (event.type === "tool-call") await this.#storeCall(event.call);
        else if (event.type === "tool-result") await this.#reported(event);
        else this.#take(event);
        this.#isStoring = false;
      }
      if (this.#end !== undefined || signal.aborted) return undefined;
      throw new BrokenContract(
        'ends without yielding its last event, { type: "end", finish, usage }',
      );
    } catch (thrownHere) {
      reader.abort(); // what is left of it
      const error = refusalIn(thrownHere, `${provider}/${model}`) ?? thrownHere;
      // Such a request used nothing, and is repeated in another form.
      const usedNothing = ["session_refused", "too_long"];
      if (error instanceof ResponderError && !usedNothing.includes(error.kind)) {
        const used = isUsage(error.usage) ? error.usage : noUsage;
        this.#usage = sumUsage(this.#usage ?? noUsage, used);
      }
      return error ?? new Error("the model's stream broke");
    }
  }

  /** @throws ResponderError: there is no room for all of it. */
  #take(event: Exclude<ResponderEvent, { readonly type: "tool-call" | "tool-result" }>): void {
    if (event.type === "text" || event.type === "reasoning") {
      const { type, text } = event;
      const kept = fitText(text, answerLimits.messageBytes - this.#bytes);
      if (type === "reasoning") this.#reasoning += kept;
      else {
        this.#text += kept;
        this.#firstWordMs ??= this.#elapsedMs();
      }
      this.#prompt.turn.add({ type, text: kept });
      this.#takeRoom(jsonBytes(text));
    } else if (event.type === "provider-session") this.#sessionId = event.id;
    else if (event.type === "provider-data") {
      const before = this.#data === undefined ? 0 : jsonBytes(this.#data);
      this.#takeRoom(jsonBytes(event.data) - before);
      // For the model that was asked: it may answer by another name.
      const { provider, model } = this.#responder;
      this.#data = { ...event.data, provider, model };
    } else {
      this.#end = event;
      this.#usage = this.#usage ? sumUsage(this.#usage, event.usage) : event.usage;
    }
  }

  #takeRoom(bytes: number): void {
    this.#bytes += bytes;
    if (this.#bytes > answerLimits.messageBytes) throw this.#tooLong();
  }

  /** Stores a call with what was said before it. @throws ResponderError: there is no room for it. */
  async #storeCall(call: ToolCall): Promise<void> {
    this.#takeRoom(jsonBytes(call));
    if (this.#lastNumber >= answerLimits.toolCalls) throw this.#tooLong();
    const step = { number: ++this.#lastNumber, call, isStarted: false, hasResult: false };
    await this.#store("call", step, {
      role: "assistant",
      content: this.#text,
      reasoning_content: this.#reasoning || undefined,
      tool_calls: [call as ToolCall & JsonObject],
      provider_data: this.#data,
    });
    this.#text = "";
    this.#reasoning = "";
    this.#data = undefined;
    this.#bytes = 0;
    this.#steps.push(step);
    this.#wake.resolve(true);
    this.#wake = Promise.withResolvers();
  }

  /** Stores a result that the responder reports, if it is not stored yet. */
  async #reported({ toolCallId, content, isError }: ToolResult): Promise<void> {
    const isIt = ({ call, hasResult }: Step) => call.id === toolCallId && !hasResult;
    const step = this.#steps.findLast(isIt);
    if (step !== undefined) await this.#storeResult(step, { content, isError });
  }

  async #storeResult(
    step: Step,
    { content, isError }: { readonly content: string; readonly isError: boolean },
  ): Promise<void> {
    // The responder may have reported one before the tool came back.
    if (step.hasResult) return;
    step.hasResult = true;
    await this.#store("result", step, {
      role: "tool",
      content: fitText(content, answerLimits.messageBytes),
      tool_call_id: step.call.id,
      name: step.call.function.name,
      is_error: isError || undefined,
    });
  }

  #store(
    kind: "call" | "result",
    { number }: Step,
    fields: Parameters<Transaction["message"]>[0],
  ): Promise<void> {
    if (this.#isOver) return Promise.resolve();
    this.#isUsed = true;
    const stored = this.#append(`${stepPrefix(kind, this.#prompt.turn)}${number}`, fields);
    this.#storing = Promise.allSettled([this.#storing, stored]);
    return stored;
  }

  async #append(id: string, fields: Parameters<Transaction["message"]>[0]): Promise<void> {
    const { chats, turn, begun } = this.#prompt;
    try {
      turn.assertUnfenced();
      const message = await chats.changeExisting(turn.chatId, async (transaction) => {
        const by = await answeredBy(chats, transaction, begun, this.#responder);
        return transaction.message({ id, ...fields, ...by });
      });
      this.#stored.push(message);
      turn.add({ type: "message", message });
    } catch (error) {
      this.#broken.abort(error);
      throw error;
    }
  }

  #tooLong(): ResponderError {
    const { provider, model } = this.#responder;
    const says = `${provider}/${model} wrote more than can be kept: its answer was cut short`;
    return new ResponderError(says, { kind: "refused", usage: unknownUsage });
  }

  #elapsedMs(): number {
    return Math.round(this.#prompt.clock.monotonic() - this.#beganAt);
  }

  /**
   * Ends the answer: what a tool returns from now on is not stored.
   *
   * @param error what broke it off.
   * @param prompted what of its prompt is stored with it.
   * @throws what a call or a result could not be stored for.
   */
  async end(
    error: unknown,
    prompted: Pick<Ended, "viewFrom" | "estimated" | "acknowledged">,
  ): Promise<Ended> {
    this.#isOver = true;
    this.#wake.resolve(true);
    await this.#storing;
    this.#broken.signal.throwIfAborted();
    const { turn } = this.#prompt;
    const finish = this.#end?.finish;
    const isCut = finish === undefined || finish === "error" || finish === "other";
    const isStopped = turn.signal.aborted && isCut;
    const isBroken = error !== undefined || isCut;
    const isBlank = this.#text.trim() === "";
    const limit = limits.get(finish);
    const isEmpty = !isBroken && isBlank && (limit !== undefined || !this.#saidBefore(finish));
    const isFailed = !isStopped && (isBroken || isEmpty);
    const name = `${this.#responder.provider}/${this.#responder.model}`;
    const said = isEmpty ? `${name} answered without a word` : `${name} did not end its answer`;
    const atLimit = limit && `${said}: ${limit}`;
    let reason = isStopped ? "The answer was stopped." : atLimit;
    if (isFailed) {
      reason = isEmpty ? (atLimit ?? said) : reasonOf(error, name);
      this.#logFailure(error);
    }
    const outcome = isFailed ? "failed" : isStopped ? "interrupted" : "answered";
    const message: MessageInput = {
      role: "assistant",
      content: isBlank ? "" : this.#text,
      reasoning_content: this.#reasoning || undefined,
      provider_data: this.#data,
    };
    return {
      ...prompted,
      // With a tool's result the model was asked again, and what it read the first time counted twice.
      estimated: this.#isUsed ? undefined : prompted.estimated,
      usage: this.#usage ?? noUsage,
      // A session that ends with an answer that is not stored must not be resumed.
      providerSessionId: isEmpty ? undefined : this.#sessionId,
      messages: isBlank && outcome !== "answered" ? [] : [message],
      answerId: answerId(turn.id, turn.retryId),
      outcome,
      provider: this.#responder.provider,
      model: this.#end?.model ?? this.#responder.model,
      latencyMs: this.#elapsedMs(),
      firstWordMs: this.#firstWordMs,
      reason,
      detail: isFailed && error instanceof ResponderError ? error.detail : undefined,
      finish,
    };
  }

  /** Calls alone may be the answer, or what was said before them. Else the person would see nothing. */
  #saidBefore(finish: FinishReason | undefined): boolean {
    const isSaid = ({ role, content }: StoredMessage) =>
      role === "assistant" && content.trim() !== "";
    return (finish === "tool-calls" && this.#isUsed) || this.#stored.some(isSaid);
  }

  #logFailure(error: unknown): void {
    const { turn, logger } = this.#prompt;
    const { provider } = this.#responder;
    const where = { chat: turn.chatId, turn: turn.id, trace_id: turn.span.traceId, provider };
    if (error === undefined || error instanceof ResponderError) {
      const fields = { ...where, error: error?.name, errno: error?.errno };
      logger.warn(fields, "the model did not finish its answer");
    } else logger.error({ ...where, ...thrown(error) }, "the responder threw");
  }
}

/** Ends of an answer that is not whole, though its model ended it. */
const limits = new Map<FinishReason | undefined, string>([
  ["length", "it reached its limit of tokens"],
  ["content-filter", "a content filter stopped it"],
]);

const noUsage: Usage = { inputTokens: 0, outputTokens: 0, costUsd: 0 };

/** Arguments as the model wrote them. `undefined`: no tool was run with these. */
function parsed(written: string): unknown {
  try {
    return JSON.parse(written === "" ? "{}" : written);
  } catch {
    return undefined; // not JSON: said above
  }
}

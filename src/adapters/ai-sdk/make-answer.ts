// One turn of a chat page: asks the application for an answer, streams it to those who read, and stores it.
import { isDeepStrictEqual } from "node:util";
import { createUIMessageStream, type UIMessage, type UIMessageChunk } from "ai";
import type { StoredMessage } from "../../core/chat/message.ts";
import {
  errorCodes,
  errorName,
  isThroughlineError,
  type ThroughlineError,
} from "../../core/errors.ts";
import type { JsonObject } from "../../core/json.ts";
import { thrown } from "../../core/logger.ts";
import { counted, unknownUsage } from "../../core/models/prices.ts";
import { refusalIn } from "../../core/models/provider-words.ts";
import { misconfigured } from "../../core/options.ts";
import type { Throughline } from "../../core/throughline.ts";
import { until } from "../../core/timers.ts";
import type { OpenTurn, TurnEnd } from "../../core/turns/open-turn.ts";
import type { Ready } from "./plan.ts";
import { type AnswerStream, type Chunk, finishOf } from "./ui-chunks.ts";
import {
  asJson,
  ended,
  isToolPart,
  type Message,
  type UIChatMessage,
  withResults,
} from "./ui-message.ts";

/** What is to be answered. */
export interface ChatTurn {
  readonly chatId: string;
  /**
   * The conversation as it is stored, up to the message that is to be answered; or up to the answer that is
   * to be continued, such as with the result of a tool.
   */
  readonly messages: UIChatMessage[];
  /** Fires when the answer is not wanted any more: pass it to the model as its `abortSignal`. */
  readonly signal: AbortSignal;
  /** The persona, and what extensions add to it. May be "". */
  readonly instructions: string;
  /**
   * What changes from turn to turn, for the end of the prompt. To read it is to use it: what it says once is
   * not said again.
   */
  readonly context: string | undefined;
  /** What the page sent: also the fields that the application added. */
  readonly body: JsonObject;
}

/**
 * What `streamText` returns; or a stream of UI message chunks, such as that of `toUIMessageStream` or
 * `createUIMessageStream`, which holds the `finish` of a model.
 */
export type UIAnswer = ReadableStream<unknown> | ModelResult;

interface ModelResult {
  toUIMessageStream(): ReadableStream<unknown>;
  readonly usage?: PromiseLike<unknown> | undefined;
  readonly response?: PromiseLike<{ readonly modelId?: string | undefined }> | undefined;
}

export interface ChatRoutesOptions {
  /** Asks a model. Called once the message is stored, by one turn at a time in each chat. */
  respond(turn: ChatTurn): UIAnswer | PromiseLike<UIAnswer>;
}

/** How a model ends its answer, with the reason if it is not whole. */
const finishes = new Map<unknown, StoredMessage["partial_reason"]>([
  [undefined, undefined],
  ["stop", undefined],
  ["tool-calls", undefined],
  ["length", "length"],
  ["content-filter", "content_filter"],
]);

interface Making extends Ready {
  readonly throughline: Pick<Throughline, "chats" | "ports">;
  readonly chatId: string;
  readonly turn: OpenTurn;
  readonly body: JsonObject;
  readonly stream: AnswerStream;
}

/**
 * Makes the answer and stores it: after each step with a call, and at the end. The stream says how it ended
 * once that is stored. Never rejects.
 */
export async function makeAnswer(options: ChatRoutesOptions, making: Making): Promise<void> {
  const { turn, stream, throughline } = making;
  try {
    const end = await new Answer(making).make(options);
    const last = end.type === "finish" ? finishOf(making.records.id, end) : [end];
    for (const chunk of last) stream.add(chunk);
  } catch (error) {
    throughline.ports.logger.error({ error: errorName(error) }, "an answer was not stored");
    await turn.fail();
    stream.add({ type: "error", errorText: says(error) });
  } finally {
    stream.end();
  }
}

const broken = { message: "An error occurred.", detail: undefined };

function says(error: unknown): string {
  if (isThroughlineError(error, "THROUGHLINE_CONFIGURATION")) return error.message;
  if (isThroughlineError(error)) return errorCodes[error.code].says;
  const { message, detail } = refusalIn(error, "The model") ?? broken;
  return detail === undefined ? message : `${message}: ${detail}`;
}

/** `respond` broke its contract. */
function notAnAnswer(): ThroughlineError {
  return misconfigured(
    "`respond` must return what `streamText` returns, or a stream of UI message chunks: not text",
  );
}

/** Whether a part is of an answer: no step, no thought, no white space. */
function isSaid({ type, text }: Message["parts"][number]): boolean {
  return type === "text" ? String(text).trim() !== "" : !["step-start", "reasoning"].includes(type);
}

/** The step in which a model failed or was stopped before it said anything is none. */
function withoutEmptyStep(message: Message): Message {
  const last = message.parts.findLastIndex(({ type }) => type !== "step-start");
  return { ...message, parts: message.parts.slice(0, last + 1) };
}

/** Only a turn that ended whole waits for its page: a call that this attempt left open gets no result. */
function settled(message: Message, before: Message): Message {
  const parts = message.parts.flatMap((part, index) =>
    isDeepStrictEqual(part, before.parts[index])
      ? [part]
      : withResults({ ...message, parts: [part] }).parts,
  );
  return { ...message, parts };
}

class Answer {
  readonly #making: Making;
  #usedContext = false;
  /** What the application gave. */
  #result: ModelResult | undefined;

  constructor(making: Making) {
    this.#making = making;
  }

  /**
   * Reads the application's stream to its end, also when no page watches, and stores the end of the turn.
   *
   * @returns the chunk that tells how it ended.
   */
  async make(options: ChatRoutesOptions): Promise<Chunk> {
    const { records, stream, turn, throughline } = this.#making;
    const before = records.message;
    let made = before;
    let end: Chunk | undefined;
    let isFinished = false;
    const chunks = createUIMessageStream({
      originalMessages: [made as unknown as UIMessage],
      execute: async ({ writer }) => {
        for await (const chunk of this.#chunks(options)) writer.write(chunk);
      },
      onError: (error) => {
        throughline.ports.logger.error(thrown(error), "respond threw");
        return says(error);
      },
      onStepEnd: ({ responseMessage }) => this.#keep(asJson(responseMessage)),
      onEnd: ({ responseMessage }) => {
        made = asJson(responseMessage);
      },
    });
    for await (const given of chunks) {
      const chunk = given as unknown as Chunk;
      const isEnd = ["error", "abort", "finish"].includes(chunk.type);
      // The first error tells how it ended; nothing that follows makes it whole.
      isFinished ||= chunk.type === "finish";
      if (!isEnd) stream.add(chunk);
      else if (end?.type !== "error") end = chunk;
    }
    const said = ended(made);
    const failed = { type: "error", errorText: broken.message };
    const isStopped = turn.signal.aborted || end?.type === "abort";
    const isEnded = end?.type === "finish" && finishes.has(end["finishReason"]);
    const isAnswer = !isStopped && isEnded && said.parts.some(isSaid);
    const spent = async () => (isFinished ? spentOn(this.#result) : { usage: unknownUsage });
    if (isAnswer) {
      await this.#store(said, "answered", spent, finishes.get(end?.["finishReason"]));
      return end ?? failed;
    }
    const message = settled(withoutEmptyStep(said), before);
    await this.#store(message, isStopped ? "interrupted" : "failed", spent);
    if (isStopped) return { type: "abort" };
    return isEnded ? failed : (end ?? failed);
  }

  /** The application's chunks until it is stopped. */
  async *#chunks(options: ChatRoutesOptions): AsyncGenerator<UIMessageChunk> {
    const { turn, records } = this.#making;
    const { signal } = turn;
    // It may have been stopped while it was prepared, and another turn may run.
    if (signal.aborted) {
      yield { type: "abort" };
      return;
    }
    const asked = this.#ask(options);
    const stream = await until(asked, { signal });
    const reader = stream?.getReader();
    // It may still be on its way, and then nothing reads it.
    if (reader === undefined) asked.then((late) => late.cancel()).catch(() => undefined);
    while (reader !== undefined) {
      const next = await until(reader.read(), { signal });
      if (next === undefined) void reader.cancel().catch(() => undefined);
      if (next === undefined || next.done) break;
      const chunk = next.value as UIMessageChunk;
      if (typeof chunk !== "object") throw notAnAnswer();
      yield chunk.type === "start" ? { ...chunk, messageId: records.id } : chunk;
    }
    if (signal.aborted) yield { type: "abort" };
  }

  async #ask({ respond }: ChatRoutesOptions): Promise<ReadableStream<unknown>> {
    const { turn, chatId, messages, body } = this.#making;
    const { signal, instructions } = turn;
    const use = () => {
      this.#usedContext = true;
      return turn.context;
    };
    const asked = {
      chatId,
      messages,
      signal,
      instructions,
      get context() {
        return use();
      },
      body,
    };
    const answer: Partial<ReadableStream> & Partial<ModelResult> = Object(await respond(asked));
    if (typeof answer.getReader === "function") return answer as ReadableStream<unknown>;
    if (typeof answer.toUIMessageStream !== "function") throw notAnAnswer();
    this.#result = answer as ModelResult;
    for (const name of ["usage", "response"]) {
      // It may reject before it is read, and that must not end the process. The SDK's own are getters.
      const value: unknown = Object.getOwnPropertyDescriptor(answer, name)?.value;
      if (value instanceof Promise) value.catch(() => undefined);
    }
    return answer.toUIMessageStream();
  }

  /** Stores a step that called something: what follows is made with its results. */
  async #keep(message: Message): Promise<void> {
    const { throughline, chatId, turn, records } = this.#making;
    const step = message.parts.findLastIndex(({ type }) => type === "step-start");
    if (!message.parts.slice(step + 1).some(isToolPart)) return;
    try {
      records.next(message);
      await records.keep(throughline.chats, chatId, turn);
    } catch (error) {
      // It is tried again with the next step, or at the end.
      throughline.ports.logger.warn({ error: errorName(error) }, "a step was not stored");
    }
  }

  /** @param cut why the model's own end left it cut short. */
  async #store(
    message: Message,
    outcome: TurnEnd["outcome"],
    spent: () => Promise<Pick<TurnEnd, "usage" | "model">>,
    cut?: StoredMessage["partial_reason"],
  ): Promise<void> {
    const { throughline, chatId, turn, records } = this.#making;
    const isSilent = isDeepStrictEqual(message.parts, records.message.parts);
    if (outcome === "answered" || !isSilent) records.next(message);
    const own = records.unstored;
    const said = own.findLast(({ role }) => role === "assistant");
    if (outcome === "failed" && (said?.content ?? "").trim() === "") {
      // Nothing was said: it can be asked again. What tools did is not forgotten.
      const isOfTools = own.some(({ role, tool_calls: calls }) => role === "tool" || calls);
      if (isOfTools) await records.keep(throughline.chats, chatId, turn);
      return turn.fail();
    }
    const isNothing = outcome === "interrupted" && records.isEmpty;
    if (said === undefined && !isNothing) records.end();
    const took = await spent();
    const inputs = await records.inputs(throughline.chats, chatId, turn.user.id);
    const at = cut ? inputs.findLastIndex(({ role }) => role === "assistant") : -1;
    const messages = inputs.map((each, index) =>
      index === at ? { ...each, partial: true, partial_reason: cut } : each,
    );
    await turn.close({ ...took, messages, outcome, usedContext: this.#usedContext });
  }
}

/** What an answer took, and which model gave it. The SDK rejects where it does not know. */
async function spentOn(result: ModelResult | undefined): Promise<Pick<TurnEnd, "usage" | "model">> {
  const model = await Promise.resolve(result?.response).catch(() => undefined);
  const reported = await Promise.resolve(result?.usage).catch(() => undefined);
  const { inputTokens, outputTokens, inputTokenDetails: details } = Object(reported);
  return {
    usage: counted(inputTokens, outputTokens, details?.cacheReadTokens),
    model: model?.modelId || undefined,
  };
}

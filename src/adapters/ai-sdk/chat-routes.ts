import { createUIMessageStreamResponse, type UIMessageChunk } from "ai";
import { ThroughlineError } from "../../core/errors.ts";
import { unknownUsage } from "../../core/models/prices.ts";
import { aFunction, aThroughline, checkArgument } from "../../core/options.ts";
import type { Throughline } from "../../core/throughline.ts";
import { until } from "../../core/timers.ts";
import type { OpenTurn } from "../../core/turns/open-turn.ts";
import type { Turn } from "../../core/turns/turn.ts";
import type { Turns } from "../../core/turns/turns.ts";
import { type ChatRequest, chatOf, problemResponse, readChatRequest } from "./chat-request.ts";
import { shownIn } from "./load-messages.ts";
import { type ChatRoutesOptions, makeAnswer } from "./make-answer.ts";
import { type Plan, planOf, prepare } from "./plan.ts";
import { AnswerStream, type Chunk, chunksOf, finishOf, startOf } from "./ui-chunks.ts";
import type { Part } from "./ui-message.ts";

/** The routes of a chat page, from a request to a response: for any server that has these. */
export interface ChatRoutes {
  /** Takes the newest message of a chat, and streams its answer. */
  POST(request: Request): Promise<Response>;
  /** `…/{id}/stream`: streams the answer that is being made, from its start; 204 when there is none. */
  GET(request: Request): Promise<Response>;
  /** `…/{id}/stream`: stops the answer that is being made. What came so far is kept. */
  DELETE(request: Request): Promise<Response>;
}

/** What a period says that it runs on, until an answer names its model. */
const target = { provider: "ai-sdk", model: "ai-sdk" };
const keepAliveMs = 15_000;
/** How often it is asked whether another process still makes an answer. */
const elsewhereMs = 500;

/**
 * Routes for `useChat`. The message is stored before `respond` is called, and the answer is made to its end
 * also when no page watches. The same message again gets the same answer: as it is made, or as it is stored; after a crash or
 * a failure it is asked for again. Who may read and write a chat is for the caller to decide, before these.
 *
 * Errors are `application/problem+json` with our codes. A model that fails is an `error` part of the stream.
 */
export function chatRoutes(
  throughline: Pick<Throughline, "chats" | "ports" | "turns">,
  options: ChatRoutesOptions,
): ChatRoutes {
  checkArgument(throughline, "throughline", aThroughline);
  checkArgument(options?.respond, "respond", aFunction);
  const pages = new ChatPages(throughline, options);
  const route = (serve: (request: Request) => Promise<Response>) => async (request: Request) => {
    try {
      const response = await serve(request);
      // Its page has left: it would be kept alive for no reader.
      if (request.signal.aborted) await response.body?.cancel();
      return response;
    } catch (error) {
      return problemResponse(error, throughline.ports);
    }
  };
  return {
    POST: route((request) => pages.say(request)),
    GET: route((request) => pages.watch(request)),
    DELETE: route((request) => pages.stop(request)),
  };
}

type Memories = Pick<Throughline, "chats" | "ports" | "turns">;

class ChatPages {
  readonly #throughline: Memories;
  readonly #options: ChatRoutesOptions;
  /** The streams of turns that run, or are about to. */
  readonly #streams = new WeakMap<Turn, PromiseWithResolvers<AnswerStream>>();
  #opening: Promise<Turns> | undefined;

  constructor(throughline: Memories, options: ChatRoutesOptions) {
    this.#throughline = throughline;
    this.#options = options;
  }

  get #turns(): Promise<Turns> {
    this.#opening ??= this.#throughline.turns();
    return this.#opening;
  }

  async say(request: Request): Promise<Response> {
    const asked = await readChatRequest(request);
    const { chatId, message } = asked;
    const turns = await this.#turns;
    let plan = await planOf(this.#throughline, asked);
    let opened = await turns.open(chatId, plan.input, target);
    // The same answer is continued already: with this, or with what another page sent.
    while (opened.state === "running" && plan.isNews) {
      await this.#streamOf(opened.turn);
      plan = await planOf(this.#throughline, asked);
      if (plan.isNews) await opened.turn.done.catch(() => undefined); // however it ended
      opened = await turns.open(chatId, plan.input, target);
    }
    // A page that continues an answer has what it had before.
    const known = message.role === "assistant" ? message.parts : undefined;
    let stream: AnswerStream | undefined;
    if (opened.state === "open") stream = await this.#begin(asked, plan, opened.turn);
    if (opened.state === "running") stream = await this.#streamOf(opened.turn);
    if (stream !== undefined) return streamed(stream.read(known));
    if (opened.state === "running") await opened.turn.done;
    const turn = opened.state === "answered" ? opened : opened.turn;
    const { id } = "user" in turn ? turn.user : turn;
    const stored = await this.#storedAnswer(chatId, id, known);
    if (stored !== undefined) return stored;
    throw new ThroughlineError("the model did not answer. The message is kept", {
      code: "THROUGHLINE_MODEL_FAILED",
    });
  }

  async watch(request: Request): Promise<Response> {
    const { signal } = request;
    const chatId = chatOf(request);
    const turns = await this.#turns;
    const turn = turns.running(chatId);
    const stream = turn && (await this.#streamOf(turn));
    if (stream !== undefined) return streamed(stream.read());
    const id = turn?.id ?? (await this.#endedElsewhere(chatId, turns, signal));
    const stored = id === undefined ? undefined : await this.#storedAnswer(chatId, id);
    return stored ?? new Response(null, { status: 204 });
  }

  /** Waits for the turn that another process runs. @returns its id; `undefined`: there is none, or it has no end. */
  async #endedElsewhere(
    chatId: string,
    turns: Turns,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    const { chats, ports } = this.#throughline;
    const { head } = await chats.state(chatId);
    const id = head?.open_turn?.id ?? head?.pending?.[0];
    if (id === undefined) return undefined;
    const pause = { signal, ms: elsewhereMs, timers: ports.timers };
    while (!signal.aborted && (await turns.isRunning(chatId))) {
      await until(new Promise(() => undefined), pause);
    }
    const { head: after } = await chats.state(chatId);
    return after?.open_turn?.id === id ? undefined : id;
  }

  async stop(request: Request): Promise<Response> {
    const chatId = chatOf(request);
    const turns = await this.#turns;
    const turn = turns.running(chatId);
    await turns.stopAnywhere(chatId);
    await turn?.done.catch(() => undefined); // however it ended
    return new Response(null, { status: 204 });
  }

  /** Begins to make the answer. @returns `undefined`: it is there already. */
  async #begin(asked: ChatRequest, plan: Plan, turn: OpenTurn): Promise<AnswerStream | undefined> {
    const throughline = this.#throughline;
    const { chatId, body } = asked;
    try {
      const ready = await prepare(throughline, asked, plan, turn);
      if (ready === undefined) {
        await turn.close({ messages: [], usage: unknownUsage, outcome: "answered" });
        return undefined;
      }
      const running = (await this.#turns).running(chatId);
      const stream = new AnswerStream(ready.records.message);
      if (running?.id === turn.user.id) this.#awaited(running).resolve(stream);
      void makeAnswer(this.#options, { ...ready, throughline, chatId, turn, body, stream });
      return stream;
    } catch (error) {
      await turn.fail();
      throw error;
    }
  }

  /** The stream of a turn; none of one that ended before it had one, or that others run. */
  #streamOf(turn: Turn): Promise<AnswerStream | undefined> {
    const over = turn.done.then(
      () => undefined,
      () => undefined,
    );
    return Promise.race([this.#awaited(turn).promise, over]);
  }

  #awaited(turn: Turn): PromiseWithResolvers<AnswerStream> {
    const known = this.#streams.get(turn);
    if (known !== undefined) return known;
    const made = Promise.withResolvers<AnswerStream>();
    this.#streams.set(turn, made);
    return made;
  }

  /** The stored answer of a turn as a stream. @param known what the page has of it. */
  async #storedAnswer(
    chatId: string,
    turnId: string,
    known: readonly Part[] = [],
  ): Promise<Response | undefined> {
    const shown = await shownIn(this.#throughline, chatId);
    const last = shown.findLast(({ turn, message }) => turn === turnId && message.role !== "user");
    if (last === undefined) return undefined;
    const { id, metadata, parts } = last.message;
    const start = startOf({ id, metadata: metadata as Chunk[string] });
    return streamed([start, ...chunksOf(parts, known), ...finishOf(id)]);
  }
}

/** Server-sent events, as the SDK's pages read them. */
function streamed(chunks: Iterable<Chunk> | AsyncIterable<Chunk>): Response {
  const stream = ReadableStream.from(chunks) as unknown as ReadableStream<UIMessageChunk>;
  return createUIMessageStreamResponse({ stream, keepAliveMs });
}

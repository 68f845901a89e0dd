import { errorName } from "../errors.ts";
import type { NewId } from "../ids.ts";
import type { JsonObject } from "../json.ts";
import type { Logger } from "../logger.ts";
import type { ChatHead } from "../memories/chat/chat-head.ts";
import type { Chats } from "../memories/chat/chats.ts";
import { readHistory } from "../memories/chat/history-collector.ts";
import type { HistoryView } from "../memories/chat/history-view.ts";
import type { WorkingMemories } from "../memories/interaction/working-memories.ts";
import { bucketOf } from "../memories/provider-session/session-state.ts";
import {
  type FinishReason,
  type OfferedTools,
  type Responder,
  ResponderError,
  type ResponderRequest,
  type Usage,
} from "./responder.ts";
import type { Turn } from "./turn.ts";
import { turnContext } from "./turn-context.ts";
import { type Begun, type Ended, newestWords, type ToolMessage } from "./turn-records.ts";

export interface AskPorts {
  readonly chats: Chats;
  readonly memories: WorkingMemories;
  readonly newId: NewId;
  readonly logger: Logger;
  readonly persona: string;
  readonly responder: Responder;
  readonly turn: Turn;
  readonly begun: Begun;
  /** What the person is told beside the reply; added to. */
  readonly notices: string[];
  /** How the companion feels. */
  readonly mood?: string | undefined;
  /** What to know after a restart: a text with marks of its own. */
  readonly welcome?: string | undefined;
  /** What the model may do beside speaking. */
  readonly tools?: ((turn: Turn, target: Target) => OfferedTools) | undefined;
}

type Target = Pick<Responder, "provider" | "model">;

export interface Asked extends Ended {
  /** Why the answer is not whole: one sentence that is safe to show. */
  readonly reason?: string;
}

/** A model with so small a window gets the working memory's summary in place of the history. */
const smallWindow = 8_192;

const noUsage: Usage = { inputTokens: 0, outputTokens: 0, costUsd: 0 };

/**
 * Asks a model, streaming its answer into the turn. Whatever goes wrong is in the result, with the
 * text that came before: this rejects only when the chat itself cannot be read.
 */
export async function ask(ports: AskPorts): Promise<Asked> {
  const { responder, begun, turn, notices } = ports;
  const { view, isSmall } = await historyFor(ports);
  const attempt = new Attempt(ports, isSmall ? undefined : view.fromSeq);
  const id = bucketOf(begun.session, responder.provider).session_id;
  const context = turnContext({
    ...{ newId: ports.newId, notices, awayMs: begun.awayMs, mood: ports.mood },
    summary: isSmall ? (ports.memories.peek(turn.chatId)?.summary() ?? "") : "",
  });
  const changing = [context, ports.welcome ?? ""].filter((part) => part !== "").join("\n\n");
  const request: ResponderRequest = {
    instructions: ports.persona,
    messages: isSmall ? view.messages.slice(-1) : view.messages,
    ...(changing === "" ? {} : { context: changing }),
    ...(ports.tools === undefined ? {} : { tools: ports.tools(turn, responder) }),
  };
  let error = await attempt.run(id === "" ? request : { ...request, providerSessionId: id });
  if (isRefusedSession(error) && id !== "" && attempt.isSilent) {
    const notice = `${responder.provider} no longer knows its session: it was asked afresh.`;
    notices.push(notice);
    turn.add({ type: "notice", text: notice });
    error = await attempt.run(request);
  }
  return attempt.result(error);
}

async function historyFor(ports: AskPorts): Promise<{ view: HistoryView; isSmall: boolean }> {
  const { responder, turn, begun, chats } = ports;
  const { provider, model, window } = responder;
  const { head } = await chats.log.existing(turn.chatId);
  const reported = head.reported?.[provider];
  const isSmall = window !== undefined && window <= smallWindow;
  const view = await readHistory(chats.log.ports.logs, turn.chatId, {
    ...{ provider, model, window },
    startSeq: begun.session.start_seq,
    ...(turn.retryId === undefined ? {} : { unansweredId: turn.id }),
    ...(head.clear_seq === undefined ? {} : { clearSeq: head.clear_seq }),
    ...optional("providerResetSeq", head.provider_start?.[provider]),
    ...optional("viewFromSeq", head.view_from?.[provider]),
    ...(reported === undefined || reported.model !== model
      ? {}
      : { reportedTokens: { upToSeq: reported.up_to_seq, tokens: reported.tokens } }),
    ...(isSmall ? { lastMessages: 1 } : {}),
  });
  const messages = begun.isNew ? view.messages : await endingWith(turn, view, chats, head);
  return { view: { ...view, messages }, isSmall };
}

/** What is to be answered stands last: it is said again if others were said since. */
async function endingWith(
  { chatId, id, content }: Turn,
  { messages }: HistoryView,
  chats: Chats,
  head: ChatHead,
): Promise<HistoryView["messages"]> {
  const newest = await newestWords(chats, { chatId, head });
  if (newest === undefined || newest.id === id) return messages;
  const last = messages.at(-1);
  if (last?.role !== "user") return [...messages, { role: "user", content }];
  return [...messages.slice(0, -1), { role: "user", content: `${last.content}\n\n${content}` }];
}

/** One answer as it comes in, over at most two runs. */
class Attempt {
  readonly #ports: AskPorts;
  readonly #viewFrom: number | undefined;
  readonly #toolMessages: ToolMessage[] = [];
  #text = "";
  #finish: FinishReason | undefined;
  #model: string | undefined;
  #usage: Usage = noUsage;
  #providerSessionId: string | undefined;
  #providerData: JsonObject | undefined;

  constructor(ports: AskPorts, viewFrom: number | undefined) {
    this.#ports = ports;
    this.#viewFrom = viewFrom;
  }

  /** Nothing came yet, so that asking again repeats nothing. */
  get isSilent(): boolean {
    return this.#text === "" && this.#toolMessages.length === 0;
  }

  /** @returns what broke it off, if anything did. */
  async run(request: ResponderRequest): Promise<unknown> {
    const { turn, responder } = this.#ports;
    try {
      for await (const event of responder.respond(request, turn.signal)) {
        if (event.type === "text") {
          this.#text += event.text;
          turn.add(event);
        } else if (event.type === "tool-call") {
          this.#toolMessages.push({ type: "call", text: this.#text, call: event.call });
          this.#text = "";
        } else if (event.type === "tool-result") {
          this.#toolMessages.push({ ...event, type: "result" });
        } else if (event.type === "provider-session") this.#providerSessionId = event.id;
        else if (event.type === "provider-data") this.#providerData = event.data;
        else {
          this.#finish = event.finish;
          this.#model = event.model;
          this.#usage = sum(this.#usage, event.usage);
        }
      }
      return undefined;
    } catch (error) {
      if (error instanceof ResponderError && error.usage !== undefined) {
        this.#usage = sum(this.#usage, error.usage);
      }
      return error ?? new Error("the model's stream broke");
    }
  }

  result(error: unknown): Asked {
    const { responder, turn, logger } = this.#ports;
    const isCut = this.#finish === undefined || ["error", "other"].includes(this.#finish);
    const isStopped = turn.signal.aborted && isCut;
    const isFailed = !isStopped && (error !== undefined || isCut);
    if (isFailed) {
      logger.warn(
        { chat: turn.chatId, turn: turn.id, provider: responder.provider, error: errorName(error) },
        "the model did not finish its answer",
      );
    }
    const reason = isFailed ? reasonOf(error) : isStopped ? "The answer was stopped." : undefined;
    return {
      text: this.#text,
      toolMessages: this.#toolMessages,
      providerData: this.#providerData,
      providerSessionId: this.#providerSessionId,
      usage: this.#usage,
      outcome: isFailed ? "failed" : isStopped ? "interrupted" : "answered",
      partialReason: isFailed ? "error" : isStopped ? "stopped" : undefined,
      provider: responder.provider,
      model: this.#model ?? responder.model,
      viewFrom: this.#viewFrom,
      ...(reason === undefined ? {} : { reason }),
    };
  }
}

function isRefusedSession(error: unknown): boolean {
  return error instanceof ResponderError && error.kind === "session_refused";
}

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
    costUsd: a.costUsd + b.costUsd,
  };
}

function optional<K extends string>(name: K, value: number | undefined): { [P in K]?: number } {
  return (value === undefined ? {} : { [name]: value }) as { [P in K]?: number };
}

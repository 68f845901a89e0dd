import type { Attachment, Outcome, Role, StoredMessage } from "../chat/message.ts";
import { type MessageInput, roleOf } from "../chat/message-input.ts";
import type { ProviderModel, Resolution } from "../chat/provider-sessions.ts";
import { conflict, invalid, isThroughlineError } from "../errors.ts";
import type { JsonObject } from "../json.ts";
import { unknownUsage } from "../models/prices.ts";
import type { Usage } from "../models/responder.ts";
import { until } from "../timers.ts";
import { promptOf } from "./ask.ts";
import { answeredBy, type Ended, type Stored } from "./records.ts";
import type { Prompt } from "./run.ts";
import type { Turn, TurnAnswer } from "./turn.ts";

/** What a turn begins with whose model is called elsewhere. */
export interface OpenInput {
  /** Makes a repeated call the same turn. At most 200 bytes. Made up when absent. */
  readonly id?: string | undefined;
  /**
   * What was said. Without it a stored message is answered: the one with this `id`, also if it has an
   * answer; or without an `id` the oldest that has none.
   */
  readonly content?: string | undefined;
  /** Who of a group said it: 1 to 200 characters on one line. */
  readonly name?: string | undefined;
  /** Set when the application, not a person, tells this to the model: what it is. */
  readonly synthetic?: string | undefined;
  /** The caller's own fields of the message: stored with it, and sent to no model. */
  readonly extra?: JsonObject | undefined;
  /** What `keepExact` returned for this `id`. */
  readonly exact?: JsonObject | undefined;
  /** The same: files that are stored. */
  readonly attachments?: readonly Attachment[] | undefined;
}

/** What became of a message that a turn was to be opened for. */
export type Opened =
  | { readonly state: "open"; readonly turn: OpenTurn }
  /** This process runs a turn for it, or one waits here. */
  | { readonly state: "running"; readonly turn: Turn }
  /** It has an answer: the last of `messages` of the assistant. They are all that the turn stored. */
  | {
      readonly state: "answered";
      readonly user: StoredMessage;
      readonly messages: readonly StoredMessage[];
    };

/** How a turn ended whose model was called elsewhere. */
export interface TurnEnd {
  /**
   * Calls, results and answers of the model, in order: messages of `assistant` and `tool`, the roles in
   * either case, as `chats.append` takes them. One that was
   * kept already, with its id, is passed over. One that its model cut has `partial: true` and the
   * `partial_reason` `length` or `content_filter`.
   */
  readonly messages: readonly MessageInput[];
  readonly usage: Usage;
  /**
   * `interrupted` and `failed` mark the last message of the assistant as partial. `failed` without words
   * of it leaves the message unanswered, and so does `answered` with messages that say nothing.
   */
  readonly outcome: Outcome;
  /** The model that answered. By default that of the turn. */
  readonly model?: string | undefined;
  /** What the provider resumes next time. Absent: what it was. */
  readonly providerSessionId?: string | undefined;
  /** The model was given `context`: what it says once is not said again. */
  readonly usedContext?: boolean | undefined;
}

/** How long a turn that was stopped waits for its caller. */
const stoppedMs = 5_000;

/** What `close` cannot be repeated after. */
const lost = [
  "THROUGHLINE_OUTCOME_UNKNOWN",
  "THROUGHLINE_NOT_FOUND",
  "THROUGHLINE_FENCED",
  "THROUGHLINE_CLOSED",
] as const;

/**
 * A turn whose model its caller calls. It has the chat: no other turn runs there, in any process, until
 * it is closed or failed. A crash before leaves its message unanswered, with what was kept.
 */
export class OpenTurn implements AsyncDisposable {
  /** The message, as it is stored. */
  readonly user: StoredMessage;
  /** From 1. Greater: an attempt before this one was cut off or failed. */
  readonly attempt: number;
  /** What the turn stored before, oldest first: by other attempts, or an answer that is still shown. */
  readonly kept: readonly StoredMessage[];
  /** The period that the turn runs in, and whether the provider has something to resume. */
  readonly resolution: Resolution;
  /** The stable part of the prompt: the persona, and what extensions add. May be "". */
  readonly instructions: string;
  /** What changes from turn to turn, for the end of the prompt. Say so to `close` if the model gets it. */
  readonly context: string | undefined;
  /** Settles once the turn is closed or failed, and this is stored; rejects when it was cut off. */
  readonly ended: Promise<Stored>;

  readonly #prompt: Prompt;
  readonly #target: ProviderModel;
  readonly #store: (ended: Ended) => Promise<Stored>;
  readonly #beganAt: number;
  readonly #stored = Promise.withResolvers<Stored>();
  /** The newest message of the assistant that is kept and calls nothing. */
  #answer: StoredMessage | undefined;
  #closing: Promise<unknown> | undefined;
  #isOver = false;
  #isOverdue = false;

  /** @param store stores the end of the turn. */
  constructor(
    prompt: Prompt,
    target: ProviderModel,
    store: (ended: Ended) => Promise<Stored>,
    kept: readonly StoredMessage[],
  ) {
    const { begun, turn, clock } = prompt;
    this.#prompt = prompt;
    this.#target = target;
    this.#store = store;
    this.#beganAt = clock.monotonic();
    this.user = begun.user;
    this.attempt = begun.attempt;
    this.kept = kept;
    this.resolution = begun.resolution;
    const { instructions, context } = promptOf(prompt);
    this.instructions = instructions;
    this.context = context;
    this.ended = this.#stored.promise;
    this.ended.catch(() => undefined); // those who await it get the error
    if (turn.signal.aborted) void this.#stopped();
    else turn.signal.addEventListener("abort", () => void this.#stopped(), { once: true });
  }

  /**
   * Fires when the answer is not wanted any more: the turn was stopped, the chat is being forgotten,
   * this process ends, or another one has the chat. What came so far can be closed as `interrupted`
   * within 5 s; after that the turn has failed.
   */
  get signal(): AbortSignal {
    return this.#prompt.turn.signal;
  }

  /**
   * Stores what the model said and what tools returned so far, in one append. Once this resolves it
   * survives a crash, and the next attempt gets it as `kept`. A message whose id the chat holds is
   * passed over, so a repeated call stores nothing twice.
   *
   * @throws ThroughlineError `THROUGHLINE_CONFLICT`: the turn has ended. Otherwise as `Chats.append`.
   */
  async keep(input: readonly MessageInput[]): Promise<readonly StoredMessage[]> {
    this.#assertOpen();
    const messages = messagesOf(input);
    const { turn, begun, chats } = this.#prompt;
    const { stored, after } = await chats.changeExisting(turn.chatId, async (transaction) => {
      this.#assertOpen(); // it may have ended while this waited
      const by = await answeredBy(chats, transaction, begun, this.#target);
      const { seq } = transaction;
      const all: StoredMessage[] = [];
      for (const message of messages) {
        all.push(await chats.appendTo(transaction, { ...message, ...by }));
      }
      return { stored: all, after: seq };
    });
    for (const message of stored) if (message.seq > after) turn.add({ type: "message", message });
    this.#answer = stored.findLast(isAnswer) ?? this.#answer;
    return stored;
  }

  /**
   * Ends the turn: the messages, the usage and the period in one append. After a crash all of it is
   * there, or the turn is still open. What comes after its period has ended is stored hidden.
   *
   * @throws ThroughlineError `THROUGHLINE_UNAVAILABLE`, `THROUGHLINE_INVALID`, `THROUGHLINE_TOO_LARGE`,
   *   `THROUGHLINE_ID_CONFLICT`: nothing was stored, and it may be called again.
   *   `THROUGHLINE_OUTCOME_UNKNOWN`: the turn has ended; open the message again, which tells whether it
   *   is answered. The turn has ended without it: `THROUGHLINE_CONFLICT`, or `THROUGHLINE_FENCED`
   *   (another process may have the chat), `THROUGHLINE_NOT_FOUND` (the chat was forgotten).
   */
  async close(end: TurnEnd): Promise<TurnAnswer> {
    this.#assertOpen();
    const storing = this.#end({ ...end, messages: messagesOf(end.messages) });
    this.#closing = storing;
    try {
      await storing;
    } catch (error) {
      this.#closing = undefined;
      const isOver = isThroughlineError(error, ...lost);
      if (isOver || this.#isOverdue || this.#prompt.turn.fenced) this.#abandon(error);
      throw error;
    }
    return this.#prompt.turn.done;
  }

  /** Ends the turn, and leaves the message unanswered. Does nothing once the turn has ended. Never rejects. */
  async fail(): Promise<void> {
    await this.#closing?.catch(() => undefined); // its caller gets the error
    if (this.#isOver) return;
    const end = { messages: [], usage: unknownUsage, outcome: "failed" } as const;
    await this.close(end).catch((error) => this.#abandon(error));
  }

  /** `fail`, unless it is closed. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.fail();
  }

  async #end(end: TurnEnd & { readonly messages: readonly MessageInput[] }): Promise<void> {
    const { turn, part } = this.#prompt;
    const { usage, providerSessionId } = end;
    const isEmpty = end.outcome === "answered" && this.#saysNothing(end.messages);
    const outcome = isEmpty ? "failed" : end.outcome;
    const stored = await this.#store({
      messages: isEmpty ? [] : end.messages,
      providerSessionId,
      usage,
      outcome,
      provider: this.#target.provider,
      model: end.model ?? this.#target.model,
      latencyMs: Math.round(this.#prompt.clock.monotonic() - this.#beganAt),
      acknowledged: end.usedContext ? part.acknowledged : undefined,
      reason: isEmpty ? "The model answered without a word." : reasons[outcome],
    });
    this.#isOver = true;
    const assistant = stored.assistant ?? this.#answer;
    const said = assistant?.content ?? "";
    const isKept = assistant === undefined || assistant.id === this.#answer?.id;
    if (!isKept && said !== "") turn.add({ type: "text", text: said });
    this.#stored.resolve({ ...stored, assistant });
  }

  /** Its messages hold no word, call, file, or form of a framework. */
  #saysNothing(messages: readonly MessageInput[]): boolean {
    const said = [...this.kept, ...messages].filter(({ role }) => role === "assistant");
    const isBlank = ({ content, tool_calls, attachments, exact }: JsonObject) =>
      String(content).trim() === "" && (tool_calls ?? attachments ?? exact) === undefined;
    return this.#answer === undefined && messages.length > 0 && said.every(isBlank);
  }

  #assertOpen(): void {
    this.#prompt.turn.assertUnfenced();
    if (!this.#isOver && this.#closing === undefined) return;
    throw conflict("this turn has ended");
  }

  async #stopped(): Promise<void> {
    const { turn, timers } = this.#prompt;
    if (turn.fenced) {
      this.#abandon(turn.signal.reason);
      return;
    }
    // Somebody waits for it, such as a chat that is being forgotten.
    if (await until(Promise.allSettled([this.ended]), { ms: stoppedMs, timers })) return;
    this.#isOverdue = true;
    if (this.#closing !== undefined) return;
    this.#abandon(conflict("the turn was stopped, and was not closed within 5 s"));
  }

  /** Nothing more is stored of it. */
  #abandon(error: unknown): void {
    this.#isOver = true;
    this.#stored.reject(error);
  }
}

const reasons = {
  answered: undefined,
  interrupted: "The answer was stopped.",
  failed: "The model's answer broke off.",
} as const;

const isAnswer = ({ role, tool_calls: calls }: StoredMessage) =>
  role === "assistant" && calls === undefined;

function messagesOf(input: readonly MessageInput[]): readonly MessageInput[] {
  if (!Array.isArray(input)) throw invalid("messages must be an array");
  const messages = input.map((message) => ({ ...message, role: roleOf(message) as Role }));
  if (messages.every(({ role }) => role === "assistant" || role === "tool")) return messages;
  throw invalid("a turn stores messages of the roles assistant and tool");
}

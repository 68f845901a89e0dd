import { attachmentsOf, sameFiles, type TakenFile } from "../chat/attachments.ts";
import type { Attachment, Outcome, StoredMessage } from "../chat/message.ts";
import { messageRecord } from "../chat/message-input.ts";
import type { PeriodView } from "../chat/provider-sessions.ts";
import { checkMessageId } from "../chat/record-ids.ts";
import { besideWords } from "../chat/waiting.ts";
import { isoTime } from "../clock.ts";
import { idConflict, invalid } from "../errors.ts";
import { type JsonObject, tooLarge } from "../json.ts";
import type { Retry, Usage } from "../models/responder.ts";
import { checkId } from "../storage/batch.ts";
import { isLongerThan } from "../storage/key.ts";
import { logLimits, type StoredRecord } from "../storage/log-store.ts";
import { type Span, silentSpan } from "../telemetry.ts";

const maxTurnIdBytes = 200;

/** @throws ThroughlineError `THROUGHLINE_INVALID`: no turn can have this id. */
export function checkTurnId(id: string): void {
  checkId(id, "id");
  if (Buffer.byteLength(id) > maxTurnIdBytes) throw invalid("id is longer than 200 bytes");
}

/**
 * @throws ThroughlineError `THROUGHLINE_INVALID`, `THROUGHLINE_TOO_LARGE`: its message cannot be stored in every form
 *   that it may get: waiting, dismissed or traced.
 */
export function checkTurn(turn: Turn): void {
  const { id, content } = turn;
  checkTurnId(id);
  checkMessageId(id);
  const trace_id = "0".repeat(32); // longer than the mark of a dismissed one
  const said = { id, role: "user", content, turn: id, ...besideWords(turn), trace_id };
  const { seq: _, ...longest } = messageRecord(said, () => id, isoTime(0));
  if (!isLongerThan(JSON.stringify(longest), logLimits.recordBytes)) return;
  throw tooLarge(`the message is longer than ${logLimits.recordBytes} bytes`);
}

/** @throws ThroughlineError `THROUGHLINE_ID_CONFLICT`: what is said under this id already is another message. */
export function assertSame(turn: Turn, said: StoredRecord | Turn): void {
  const { content, attachments } =
    said instanceof Turn ? said : { content: said["content"], attachments: attachmentsOf(said) };
  if (content === turn.content && sameFiles(attachments, turn.attachments)) return;
  throw idConflict("this id is in use for another message");
}

/** What came of a turn, once it is stored. */
export interface TurnAnswer {
  /** The id of the user message. */
  readonly turnId: string;
  readonly user: StoredMessage;
  /** Absent when not a word came. */
  readonly assistant?: StoredMessage | undefined;
  readonly period: PeriodView;
  readonly usage: Usage;
  readonly outcome: Outcome;
  /** Why it is not whole: one sentence that is safe to show. */
  readonly reason?: string | undefined;
  /** What the provider said about it, as in `ResponderError`. */
  readonly detail?: string | undefined;
  /** For the person, beside the reply: a rollover, an old period. Never sent to a model. */
  readonly notices: readonly string[];
}

export type TurnProgress =
  /** Another process runs a turn in this chat: this one waits. */
  | { readonly type: "queued" }
  /** The user's message is durable. */
  | { readonly type: "accepted"; readonly user: StoredMessage }
  | { readonly type: "notice"; readonly text: string }
  /** The provider could not take the call now: it is called again after the wait. */
  | ({ readonly type: "retrying" } & Retry)
  | { readonly type: "text"; readonly text: string }
  /** What the model thinks, where its provider sends that. */
  | { readonly type: "reasoning"; readonly text: string }
  /**
   * A call or a result is stored. A call's message holds the text and the reasoning that came since
   * the message before.
   */
  | { readonly type: "message"; readonly message: StoredMessage }
  | { readonly type: "result"; readonly answer: TurnAnswer };

/** A message that is to be answered: what of its turn is known before. */
export type Words = Partial<Turn> & Pick<Turn, "chatId" | "id" | "content">;

/**
 * One turn as it runs. Those who watch may come late (everything is replayed) and may leave (nothing
 * stops).
 */
export class Turn {
  readonly chatId: string;
  /** Of the message. */
  readonly id: string;
  readonly content: string;
  /** Set when this regenerates the answer to a message: the id of the retry. */
  readonly retryId: string | undefined;
  /** Who of a group said it. */
  readonly name: string | undefined;
  /** Set when no person said it: what it is. */
  readonly synthetic: string | undefined;
  /** The caller's own fields of the message. */
  readonly extra: JsonObject | undefined;
  /** The form in which a framework gave the message. */
  readonly exact: JsonObject | undefined;
  /** What the message says of its files; `undefined`: what is stored of them. */
  readonly attachments: readonly Attachment[] | undefined;
  /** Its files, until they are stored. */
  files: readonly TakenFile[];
  /** Its id was made up for it, and nothing is stored of it yet. */
  isFresh: boolean;
  /** The number of the chat's newest record when nothing was stored under its id; `undefined`: not known. */
  absentAt: number | undefined;
  /** A stored message is to be answered, also if it has an answer. */
  readonly isAgain: boolean;
  /** While it runs: the span that tells of it. */
  span: Span = silentSpan;
  /** Settles with the stored result. Rejects when nothing, or no answer, could be stored. */
  readonly done: Promise<TurnAnswer>;

  readonly #controller = new AbortController();
  readonly signal: AbortSignal = this.#controller.signal;
  readonly #progress: TurnProgress[] = [];
  /** What the person is told beside the reply. */
  readonly notices: string[] = [];
  #wake = Promise.withResolvers<void>();
  /** Why nothing more may be stored. */
  fenced: Error | undefined;
  #ended = false;
  readonly #result = Promise.withResolvers<TurnAnswer>();

  constructor(words: Words) {
    this.chatId = words.chatId;
    this.id = words.id;
    this.content = words.content;
    this.retryId = words.retryId;
    this.name = words.name;
    this.synthetic = words.synthetic;
    this.extra = words.extra;
    this.exact = words.exact;
    this.attachments = words.attachments;
    this.files = words.files ?? [];
    this.isFresh = words.isFresh ?? false;
    this.isAgain = words.isAgain ?? false;
    this.done = this.#result.promise;
    this.done.catch(() => undefined); // those who await it get the error
  }

  /** Tells the person something beside the reply, once. */
  tell(text: string | undefined): void {
    if (text === undefined || this.notices.includes(text)) return;
    this.notices.push(text);
    this.add({ type: "notice", text });
  }

  /** The waits for the provider so far. */
  get waits(): readonly Retry[] {
    return this.#progress.filter((item) => item.type === "retrying");
  }

  /** Cuts the answer short: what came so far is kept, marked partial. */
  stop(): void {
    this.#controller.abort(new Error("the turn was stopped"));
  }

  /** Another process may have taken the chat over: asks no further, and nothing more is stored. */
  fence(error: Error): void {
    this.fenced ??= error;
    this.#controller.abort(error);
  }

  /** Call it before anything is stored. @throws what the turn was fenced with. */
  assertUnfenced(): void {
    if (this.fenced !== undefined) throw this.fenced;
  }

  /** Everything that happened and will happen; ends with the result, or throws what `done` rejects with. */
  async *progress(): AsyncGenerator<TurnProgress, void, undefined> {
    for (let next = 0; ; ) {
      const item = this.#progress[next];
      if (item !== undefined) {
        next++;
        yield item;
      } else if (this.#ended) {
        await this.done;
        return;
      } else await this.#wake.promise;
    }
  }

  add(item: TurnProgress): void {
    this.#progress.push(item);
    this.#wake.resolve();
    this.#wake = Promise.withResolvers<void>();
  }

  end(answer: TurnAnswer): void {
    this.#ended = true;
    this.#result.resolve(answer);
    this.add({ type: "result", answer });
  }

  fail(error: unknown): void {
    this.#ended = true;
    this.#result.reject(error);
    this.#wake.resolve();
  }
}

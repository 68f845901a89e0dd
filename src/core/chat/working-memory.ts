import { type Clock, isoTime, systemClock } from "../clock.ts";
import { invalid } from "../errors.ts";
import { fitText } from "../json.ts";
import { Lru } from "../lru.ts";
import { byDefault, type Options, resolveOptions, whole } from "../options.ts";
import { checked, object, required, text, word } from "../shape.ts";
import { checkKey } from "../storage/key.ts";
import { logLimits } from "../storage/log-store.ts";
import { parseIntent } from "../turns/intent.ts";
import { type Outcome, outcomes, type StoredMessage } from "./message.ts";
import { attachmentNotes } from "./model-row.ts";
import { type Interaction, type NewInteraction, summarise } from "./summary.ts";

const interaction = object<NewInteraction>(
  {
    utterance: text(),
    // Not free text: the label stands outside of the quotes in the summary.
    intent: checked(text(), (intent, at) => {
      if (/^[A-Za-z][A-Za-z0-9_-]{0,63}$/.test(intent)) return;
      at.says("must be a label: at most 64 letters, digits, _ and -");
    }),
    response: text(),
    outcome: word(outcomes),
  },
  "left out",
);

/** Most bytes of UTF-8 that are kept of an utterance, and of a response. */
const fieldBytes = 8_192;

/** Cuts a text with a `…`, so that a cut answer never looks like none. */
function fitted(text: string): string {
  if (Buffer.byteLength(text) <= fieldBytes) return text;
  // A copy: a slice would keep the whole text alive behind it.
  return `${Buffer.from(fitText(text, fieldBytes - 3)).toString()}…`;
}

export interface WorkingMemoryOptions {
  /**
   * How many interactions are kept, 1 to 1,000. One more drops the oldest.
   *
   * Source: the seed keeps three.
   * @default 3
   */
  readonly capacity?: number | undefined;
  /** Tells the time of an interaction and the age of the period. */
  readonly clock?: Clock | undefined;
}

export const workingMemoryOptions = {
  capacity: byDefault(3, whole(1, 1_000)),
  clock: byDefault(systemClock),
} satisfies Options<WorkingMemoryOptions>;

function resolved(options: WorkingMemoryOptions) {
  return resolveOptions("the options of a working memory", options, workingMemoryOptions);
}

/** Counts only, never texts: fit for logs, metrics and `GET /api/memory`. */
interface WorkingMemoryStats {
  readonly capacity: number;
  readonly count: number;
  readonly full: boolean;
  readonly empty: boolean;
  /** Since the memory was made, by the monotonic clock: 2 decimals, never below 0. */
  readonly session_age_seconds: number;
  /** The number of the newest turn ever appended; 0 before the first. */
  readonly last_turn: number;
}

/** A working memory to read: what a responder gets. */
export type ReadOnlyMemory = Omit<WorkingMemory, "append" | "answered" | "replace" | "clear">;

/** Remembers what this package made, which needs no check. */
let keep: (memory: WorkingMemory, said: NewInteraction, id?: string) => Interaction;

/**
 * What was just said: the last interactions of one period, in RAM only. Not a transcript, not
 * searched, never learned from, never written anywhere; gone with the process. Everything handed out
 * is frozen.
 */
export class WorkingMemory {
  readonly #capacity: number;
  readonly #clock: Clock;
  readonly #startedMs: number;
  /** Oldest first, each with what names it, where `append` was told. */
  readonly #kept: { readonly id: string | undefined; said: Interaction }[] = [];
  #lastTurn = 0;

  static {
    keep = (memory, said, id) => memory.#keep(said, id);
  }

  /** @throws ThroughlineError `THROUGHLINE_CONFIGURATION`: an option cannot be used. */
  constructor(options: WorkingMemoryOptions = {}) {
    const { capacity, clock } = resolved(options);
    this.#capacity = capacity;
    this.#clock = clock;
    this.#startedMs = this.#clock.monotonic();
  }

  /**
   * Remembers a turn: once, when it ended in any way. Removes the oldest beyond the capacity.
   *
   * @param id names what was said: what was remembered under it is removed, as this replaces it.
   * @returns what is remembered, frozen; a text of more than 8 KiB is cut to that.
   * @throws ThroughlineError `THROUGHLINE_INVALID`: a field is not what `NewInteraction` says;
   * nothing was remembered and no turn number was used.
   */
  append(said: NewInteraction, id?: string): Interaction {
    required(interaction, said, "an interaction");
    return this.#keep(said, id);
  }

  #keep({ utterance, intent, response, outcome }: NewInteraction, id?: string): Interaction {
    const before = this.#kept.findIndex((each) => id !== undefined && each.id === id);
    if (before >= 0) this.#kept.splice(before, 1);
    const said = Object.freeze({
      turn: ++this.#lastTurn,
      timestamp: isoTime(this.#clock.now()),
      utterance: fitted(utterance),
      intent: intent.toUpperCase(),
      response: fitted(response),
      outcome,
    });
    this.#kept.push({ id, said });
    if (this.#kept.length > this.#capacity) this.#kept.shift();
    return said;
  }

  /**
   * Replaces how what was said was answered, at its place and under its number. Nothing happens if it is not
   * remembered.
   *
   * @param id as it was given to `append`.
   */
  replace(id: string, { response, outcome }: Pick<NewInteraction, "response" | "outcome">): void {
    const kept = this.#kept.find((each) => each.id === id);
    if (kept === undefined) return;
    kept.said = Object.freeze({ ...kept.said, response: fitted(response), outcome });
  }

  /** Adds words to the answer to what was said last, if `append` was given an id with that. */
  answered(words: string, outcome: Outcome): void {
    const { id, said } = this.#kept.at(-1) ?? {};
    if (id === undefined || said === undefined) return;
    const response = said.response === "" ? words : `${said.response}\n\n${words}`;
    this.replace(id, { response, outcome });
  }

  get count(): number {
    return this.#kept.length;
  }

  get isEmpty(): boolean {
    return this.count === 0;
  }

  get isFull(): boolean {
    return this.count === this.#capacity;
  }

  /**
   * Lists what the person said in the last `n` turns, newest first; in all turns held when absent, in none for 0
   * or less.
   *
   * @throws ThroughlineError `THROUGHLINE_INVALID`: `n` is not a whole number.
   */
  recentUtterances(n?: number): readonly string[] {
    return this.#recent("utterance", n);
  }

  /** Lists as `recentUtterances` does, in upper case: `GREETING`. */
  recentIntents(n?: number): readonly string[] {
    return this.#recent("intent", n);
  }

  /** Lists as `recentUtterances` does; "" where nothing was answered. */
  recentResponses(n?: number): readonly string[] {
    return this.#recent("response", n);
  }

  #recent(field: "utterance" | "intent" | "response", n = this.count): readonly string[] {
    if (!Number.isInteger(n)) throw invalid("n must be a whole number");
    const newest = this.#kept.toReversed().slice(0, Math.max(0, n));
    return Object.freeze(newest.map(({ said }) => said[field]));
  }

  /** Lists everything, oldest first. */
  all(): readonly Interaction[] {
    return Object.freeze(this.#kept.map(({ said }) => said));
  }

  /**
   * Sums up: one line of at most 2,000 code points, "" when empty. See `summarise`.
   *
   * @param exceptId the id of a turn to leave out: a model that regenerates an answer does not see the old one.
   */
  summary(exceptId?: string): string {
    const kept = this.#kept.filter(({ id }) => id === undefined || id !== exceptId);
    return summarise(kept.map(({ said }) => said));
  }

  /** Makes what goes before a prompt: a line `Context:`, the summary, a blank line. "" when empty. */
  promptBlock(): string {
    return this.isEmpty ? "" : `Context:\n${this.summary()}\n\n`;
  }

  stats(): WorkingMemoryStats {
    const ageMs = Math.max(0, this.#clock.monotonic() - this.#startedMs);
    return {
      capacity: this.#capacity,
      count: this.count,
      full: this.isFull,
      empty: this.isEmpty,
      session_age_seconds: Math.round(ageMs / 10) / 100,
      last_turn: this.#lastTurn,
    };
  }

  /** Forgets the interactions. The age and the turn numbers go on. */
  clear(): void {
    this.#kept.length = 0;
  }
}

/** How many chats are remembered at once. One more drops the least recently used. */
const maxChats = 1_000;

/** What a person said, and its kind; what was sent without a word goes by the names of its files. */
export function utteranceOf(
  {
    content,
    attachments,
  }: Pick<StoredMessage, "content"> & {
    readonly attachments?: Parameters<typeof attachmentNotes>[0];
  },
  companionName?: string,
): Pick<NewInteraction, "utterance" | "intent"> {
  const utterance = content.trim() === "" ? attachmentNotes(attachments) : content;
  return { utterance, intent: parseIntent(utterance, companionName).type };
}

/**
 * One working memory a chat, in RAM only. Remove a chat's when its period rolls over or is reset, and
 * when the chat is forgotten; `clear` at exit.
 */
export class WorkingMemories {
  readonly #options: WorkingMemoryOptions;
  readonly #chats = new Lru<string, WorkingMemory>(maxChats);

  /** @throws ThroughlineError `THROUGHLINE_CONFIGURATION`: an option cannot be used. */
  constructor(options: WorkingMemoryOptions = {}) {
    this.#options = resolved(options);
  }

  /**
   * The memory of a chat, made on first use. Ask again for every turn: a memory that
   * was removed since is no longer the chat's. To add to one later, use `appendTo`.
   *
   * @throws ThroughlineError `THROUGHLINE_INVALID`, `THROUGHLINE_TOO_LARGE`: not a chat id.
   */
  of(chatId: string): WorkingMemory {
    checkKey(chatId, "a chat id", logLimits.keyBytes);
    const memory = this.#chats.get(chatId) ?? new WorkingMemory(this.#options);
    this.#chats.set(chatId, memory);
    return memory;
  }

  /**
   * Appends to a memory that `of` gave before, unless it is no longer the chat's: what a turn was about
   * does not come back when the chat was cleared, reset or forgotten, or a message erased, while it ran.
   *
   * @param id names what was said: see `WorkingMemory.append`.
   */
  appendTo(chatId: string, memory: WorkingMemory, said: NewInteraction, id?: string): void {
    if (this.#chats.peek(chatId) === memory) keep(this.of(chatId), said, id);
  }

  /** Remembers what was said outside of turns: a person's words, and answers with the words before them. */
  heard(chatId: string, message: StoredMessage): void {
    const { id, role, content, partial } = message;
    const outcome = role === "user" || partial ? "interrupted" : "answered";
    if (role === "user") {
      keep(this.of(chatId), { ...utteranceOf(message), response: "", outcome }, id);
    } else if (role === "assistant" && content !== "") {
      this.peek(chatId)?.answered(content, outcome);
    }
  }

  /** The memory of a chat if it has one: makes none, and does not count as use. */
  peek(chatId: string): WorkingMemory | undefined {
    return this.#chats.peek(chatId);
  }

  /** Forgets a chat, also in memories that were handed out. @returns how many interactions those were. */
  remove(chatId: string): number {
    const memory = this.peek(chatId);
    const count = memory?.count ?? 0;
    memory?.clear();
    this.#chats.delete(chatId);
    return count;
  }

  /** Forgets all chats, also in memories that were handed out. */
  clear(): void {
    for (const chatId of this.#chats.keys()) this.remove(chatId);
  }

  /** The counts of every chat, most recently used first. */
  stats(): readonly (WorkingMemoryStats & { readonly chat_id: string })[] {
    return Array.from(this.#chats, ([chat_id, memory]) => ({
      chat_id,
      ...memory.stats(),
    })).toReversed();
  }
}

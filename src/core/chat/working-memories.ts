import { Lru } from "../lru.ts";
import { type Checks, type Defaults, resolveOptions, whole } from "../options.ts";
import { checkKey } from "../storage/key.ts";
import { logLimits } from "../storage/log-store.ts";
import { parseIntent } from "../turns/intent.ts";
import type { NewInteraction } from "./interaction.ts";
import type { StoredMessage } from "./message.ts";
import { attachmentNotes } from "./model-row.ts";
import {
  WorkingMemory,
  type WorkingMemoryOptions,
  type WorkingMemoryStats,
  workingMemoryChecks,
  workingMemoryDefaults,
} from "./working-memory.ts";

interface WorkingMemoriesOptions extends WorkingMemoryOptions {
  /**
   * How many chats are remembered at once, 1 to 100,000. One more drops the least recently used.
   * @default 1_000
   */
  readonly maxChats?: number | undefined;
}

const defaults = {
  ...workingMemoryDefaults,
  maxChats: 1_000,
} as const satisfies Defaults<WorkingMemoriesOptions>;

const checks: Checks<WorkingMemoriesOptions> = {
  ...workingMemoryChecks,
  maxChats: whole(1, 100_000),
};

/** What a person said, and its kind; what was sent without a word goes by the names of its files. */
export function utteranceOf(
  { content, attachments }: { readonly content: string; readonly attachments?: unknown },
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
  readonly #chats: Lru<string, WorkingMemory>;

  /** @throws ThroughlineError `THROUGHLINE_CONFIGURATION`: an option cannot be used. */
  constructor(given: WorkingMemoriesOptions = {}) {
    const what = "the options of working memories";
    const { maxChats, ...options } = resolveOptions(what, given, defaults, checks);
    this.#options = options;
    this.#chats = new Lru(maxChats, { onEvict: (_, memory) => memory.clear() });
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
    if (this.#chats.peek(chatId) === memory) this.of(chatId).keep(said, id);
  }

  /** Remembers what was said outside of turns: a person's words, and answers with the words before them. */
  heard(chatId: string, message: StoredMessage): void {
    const { id, role, content, partial } = message;
    const outcome = role === "user" || partial ? "interrupted" : "answered";
    if (role === "user") {
      this.of(chatId).keep({ ...utteranceOf(message), response: "", outcome }, id);
    } else if (role === "assistant" && content !== "") {
      this.#chats.peek(chatId)?.answered(content, outcome);
    }
  }

  /** Replaces how a turn was answered, where it is remembered: see `WorkingMemory.replace`. */
  replace(chatId: string, id: string, answer: Pick<NewInteraction, "response" | "outcome">): void {
    this.#chats.peek(chatId)?.replace(id, answer);
  }

  /** The memory of a chat if it has one: makes none, and does not count as use. */
  peek(chatId: string): WorkingMemory | undefined {
    return this.#chats.peek(chatId);
  }

  /** Forgets a chat, also in memories that were handed out. @returns whether it had a memory. */
  remove(chatId: string): boolean {
    this.#chats.peek(chatId)?.clear();
    return this.#chats.delete(chatId);
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

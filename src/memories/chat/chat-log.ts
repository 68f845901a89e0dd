import type { Clock } from "../../clock.ts";
import { isThroughlineError, ThroughlineError } from "../../errors.ts";
import type { NewId } from "../../ids.ts";
import type { Logger } from "../../logger.ts";
import { checkKey } from "../../storage/key.ts";
import { type LogStore, logLimits } from "../../storage/log-store.ts";
import { type ChatHead, readHead } from "./chat-head.ts";
import { type ChatState, Draft } from "./draft.ts";

/** What the memories of a chat are built on. */
export interface ChatPorts {
  readonly logs: LogStore;
  readonly clock: Clock;
  readonly newId: NewId;
  readonly logger: Logger;
}

/** How often a change is decided anew because another writer was faster. */
const maxTries = 20;
/** Chats whose state is kept in memory; the least used is forgotten first. */
const maxStates = 128;

const missing: ChatState = { seq: 0, head: undefined, damaged: false };

/**
 * The one way to change a chat: read its state, decide, append under the condition that nothing came
 * between. Shared by all memories whose records lie in chats' logs.
 */
export class ChatLog {
  readonly ports: ChatPorts;
  /** In order of use. A state is only a guess: the append's condition finds out. */
  readonly #states = new Map<string, ChatState>();
  readonly #lanes = new Map<string, Promise<unknown>>();

  constructor(ports: ChatPorts) {
    this.ports = ports;
  }

  /** The chat as it is stored. */
  async state(chatId: string): Promise<ChatState> {
    checkChatId(chatId);
    const known = this.#states.get(chatId);
    if (known !== undefined) {
      this.#remember(chatId, known);
      return known;
    }
    const tail = await this.ports.logs.tail(chatId, 0);
    const state: ChatState =
      tail === undefined
        ? missing
        : { seq: tail.seq, head: readHead(tail.head), damaged: tail.damaged };
    this.#remember(chatId, state);
    return state;
  }

  /** The chat as it is stored. @throws ThroughlineError `THROUGHLINE_NOT_FOUND`. */
  async existing(chatId: string): Promise<ChatState & { readonly head: ChatHead }> {
    const state = await this.state(chatId);
    if (state.head === undefined) throw notFound(chatId);
    return { ...state, head: state.head };
  }

  /**
   * Changes a chat. `decide` fills the draft; it may run again when another writer of the same
   * storage came first, so it must do nothing else. A draft without records changes nothing.
   *
   * Resolves once the change is stored, with what `decide` returned. Changes of one chat happen in
   * the order of the calls.
   */
  change<T>(chatId: string, decide: (draft: Draft) => T | Promise<T>): Promise<T> {
    return this.exclusively(chatId, () => this.#change(chatId, decide));
  }

  /** Runs something while no change of this chat runs; it must not call `change` on that chat. */
  exclusively<T>(chatId: string, work: () => Promise<T>): Promise<T> {
    try {
      checkChatId(chatId);
    } catch (error) {
      return Promise.reject(error);
    }
    const result = (this.#lanes.get(chatId) ?? Promise.resolve()).then(work);
    const settled = result.then(
      () => undefined,
      () => undefined,
    );
    this.#lanes.set(chatId, settled);
    void settled.then(() => {
      if (this.#lanes.get(chatId) === settled) this.#lanes.delete(chatId);
    });
    return result;
  }

  /** Drops what is remembered of a chat, after something else changed its log. */
  forgetState(chatId: string): void {
    this.#states.delete(chatId);
  }

  async #change<T>(chatId: string, decide: (draft: Draft) => T | Promise<T>): Promise<T> {
    const { logs, clock, newId } = this.ports;
    for (let attempt = 1; ; attempt++) {
      const state = await this.state(chatId);
      const draft = new Draft(chatId, state, { now: clock.now(), newId });
      const result = await decide(draft);
      if (draft.records.length === 0) return result;
      draft.set({ updated_at: draft.at });
      const { head, records } = draft;
      try {
        const seq = await logs.append(chatId, records, { expectedSeq: state.seq, head });
        // Another number means that some of these records had been stored before.
        if (seq === draft.seq) this.#remember(chatId, { seq, head, damaged: state.damaged });
        else this.#states.delete(chatId);
        return result;
      } catch (error) {
        this.#states.delete(chatId);
        if (attempt >= maxTries || !isThroughlineError(error, "THROUGHLINE_CONFLICT")) throw error;
      }
    }
  }

  #remember(chatId: string, state: ChatState): void {
    this.#states.delete(chatId);
    this.#states.set(chatId, state);
    if (this.#states.size > maxStates) {
      for (const oldest of this.#states.keys()) {
        this.#states.delete(oldest);
        break;
      }
    }
  }
}

/** A chat id is any text of 1 to 1,024 bytes without NUL and lone surrogates. */
export function checkChatId(chatId: unknown): asserts chatId is string {
  checkKey(chatId, "chat id", logLimits.keyBytes);
}

export function notFound(chatId: string, what = "chat"): ThroughlineError {
  return new ThroughlineError(`there is no such ${what} in ${JSON.stringify(chatId)}`, {
    code: "THROUGHLINE_NOT_FOUND",
  });
}

export function alreadyThere(chatId: string): ThroughlineError {
  return new ThroughlineError(`${JSON.stringify(chatId)} exists already`, {
    code: "THROUGHLINE_CONFLICT",
  });
}

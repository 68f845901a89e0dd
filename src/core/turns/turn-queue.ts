import type { ChatLog } from "../chat/chat-log.ts";
import { closed, ThroughlineError } from "../errors.ts";
import type { JsonObject } from "../json.ts";
import { callBack } from "../logger.ts";
import { KeyedMutex } from "../mutex.ts";
import type { Lease } from "../storage/leases.ts";
import type { Turn, TurnAnswer } from "./turn.ts";

/** What is done with a turn. */
interface QueuedTurn {
  /** Stores the message of a turn that has to wait. */
  readonly keep: () => Promise<void>;
  /** Runs it once the chat is free. @param waited others may have written to the chat since it came. */
  readonly run: (waited: boolean) => Promise<TurnAnswer>;
  /** Ends the wait: the `Turns` that took it closes. */
  readonly closing: AbortSignal;
}

/** How often a chat is tried for that another process has, maybe for a moment, only to ask the same. */
const mostAsked = 3;

/**
 * The turns of one `Throughline`, of every `Turns` that it has: one at a time in each chat, in the
 * order in which they came, also among several processes. A turn holds its chat's lease from before it
 * reads anything until all that it stores is stored.
 */
export class TurnQueue {
  readonly #log: ChatLog;
  /** One turn at a time for each chat. */
  readonly #chats = new KeyedMutex();
  /** Running and waiting turns, by chat and id. */
  readonly #turns = new Map<string, Turn>();
  /** By chat, the turn that this process runs. */
  readonly running = new Map<string, Turn>();
  readonly #listeners = new Set<(turn: Turn) => void>();
  /** What has to wait is kept in the order in which it came. */
  readonly #keeping = new KeyedMutex();
  /** Two that ask at once whether a chat is elsewhere would each take the other for somebody who has it. */
  readonly #asking = new KeyedMutex();
  readonly #unsubscribe: () => void;

  constructor(log: ChatLog) {
    this.#log = log;
    this.#unsubscribe = log.cluster.subscribe((message) => this.obey(message));
  }

  /** The turn of this id that runs or waits. */
  find(chatId: string, id: string): Turn | undefined {
    return this.#turns.get(turnKey(chatId, id));
  }

  /** How many run or wait in this chat. */
  count(chatId: string): number {
    return this.#chats.count(chatId);
  }

  /** The same over all chats. */
  get size(): number {
    return this.#chats.size;
  }

  /** A turn begins to run. */
  publish(turn: Turn): void {
    callBack(this.#listeners, this.#log.ports.logger, turn);
  }

  onTurn(listener: (turn: Turn) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Queues a turn. @returns what resolves once it has ended, well or not, and its chat is free. */
  async add(turn: Turn, { keep, run, closing }: QueuedTurn): Promise<void> {
    const { chatId } = turn;
    const key = turnKey(chatId, turn.id);
    this.#turns.set(key, turn);
    // Decided before anything is awaited: what comes later waits behind this.
    const mustWait = this.#chats.isLocked(chatId);
    const locked = this.#chats.lock(chatId);
    const keepInOrder = () => this.#keeping.run(chatId, keep);
    const kept = mustWait ? keepInOrder() : undefined;
    kept?.catch((error) => {
      if (this.#turns.get(key) === turn) this.#turns.delete(key);
      turn.fail(error); // now: the sender does not wait for the turns before it
    });
    await locked;
    let ended: { readonly answer: TurnAnswer } | { readonly error: unknown };
    let release: Promise<void> | undefined;
    try {
      await kept;
      closing.throwIfAborted();
      await this.#log.free(chatId); // such as of an erasure
      const known = await this.#log.tryLease(chatId);
      if (known === undefined) {
        turn.add({ type: "queued" });
        await keepInOrder();
      }
      const lease = known ?? (await this.#log.lease(chatId, closing));
      try {
        const waited = mustWait || known === undefined;
        ended = { answer: await this.#hold(turn, lease, run, waited) };
      } finally {
        release = lease.release();
      }
    } catch (error) {
      ended = { error };
    }
    this.#chats.unlock(chatId);
    if (this.#turns.get(key) === turn) this.#turns.delete(key);
    if ("answer" in ended) turn.end(ended.answer);
    else turn.fail(ended.error);
    await release;
  }

  /** Runs a turn in a chat that this process has. If the chat is lost, the turn is fenced. */
  async #hold(
    turn: Turn,
    { lost }: Lease,
    run: QueuedTurn["run"],
    waited: boolean,
  ): Promise<TurnAnswer> {
    const fence = () => {
      const says = "this process lost the chat while it ran a turn there";
      turn.fence(new ThroughlineError(says, { code: "THROUGHLINE_FENCED", cause: lost.reason }));
    };
    lost.addEventListener("abort", fence, { once: true });
    if (lost.aborted) fence();
    this.running.set(turn.chatId, turn);
    try {
      return await run(waited);
    } finally {
      this.running.delete(turn.chatId);
      lost.removeEventListener("abort", fence);
    }
  }

  /** Whether another process has this chat, such as for a turn. */
  isElsewhere(chatId: string): Promise<boolean> {
    return this.#asking.run(chatId, async () => {
      for (let tries = 1; tries <= mostAsked; tries++) {
        if (await this.#log.aloneNow(chatId, async () => true)) return false;
      }
      return true;
    });
  }

  /** The storage closes: what runs is cut off, as by a crash, and nothing more is stored of it. */
  close(): void {
    this.#unsubscribe();
    for (const turn of this.#turns.values()) turn.fence(closed("this process is ending"));
  }

  /** Cuts short what this or another process asks for: one turn, the one that runs, or every one of a chat. */
  obey({ about, chat, turn: id, all }: JsonObject): void {
    if (about !== "stop") return;
    for (const turn of this.#turns.values()) {
      if (turn.chatId !== chat) continue;
      const isMeant = turn === this.running.get(chat) && (id ?? turn.id) === turn.id;
      if (all === true || isMeant) turn.stop();
    }
  }
}

const turnKey = (chatId: string, id: string) => JSON.stringify([chatId, id]);

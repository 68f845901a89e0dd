import type { ChatLog } from "../chat/chat-log.ts";
import type { ProviderSessions } from "../chat/provider-sessions.ts";
import { ThroughlineError } from "../errors.ts";
import { KeyedMutex } from "../mutex.ts";
import type { Turn, TurnAnswer } from "./turn.ts";
import { type StopAsked, TurnLeases } from "./turn-leases.ts";

/** What is done with a turn. */
interface QueuedTurn {
  /** Stores the message of a turn that has to wait. */
  readonly keep: () => Promise<void>;
  /** Runs it once the chat is free. @param waited others may have written to the chat since it came. */
  readonly run: (waited: boolean) => Promise<TurnAnswer>;
  /** Ends the wait: the `Turns` that took it closes. */
  readonly closing: AbortSignal;
}

/**
 * The turns of one `Throughline`, of every `Turns` that it has: one at a time in each chat, in the
 * order in which they came, also among several processes.
 */
export class TurnQueue {
  readonly #log: ChatLog;
  readonly #sessions: ProviderSessions;
  /** One turn at a time for each chat. */
  readonly #chats = new KeyedMutex();
  readonly #leases: TurnLeases;
  /** Running and waiting turns, by chat and id. */
  readonly #turns = new Map<string, Turn>();
  readonly #running = new Map<string, Turn>();
  readonly #listeners = new Set<(turn: Turn) => void>();
  /** What has to wait is kept in the order in which it came. */
  readonly #keeping = new KeyedMutex();

  constructor(log: ChatLog, sessions: ProviderSessions) {
    this.#log = log;
    this.#sessions = sessions;
    this.#leases = new TurnLeases(log, (asked) => this.#stopAsked(asked));
  }

  /** The turn of this id that runs or waits. */
  find(chatId: string, id: string): Turn | undefined {
    return this.#turns.get(turnKey(chatId, id));
  }

  running(chatId: string): Turn | undefined {
    return this.#running.get(chatId);
  }

  /** How many run or wait in this chat. */
  count(chatId: string): number {
    return this.#chats.count(chatId);
  }

  /** The same over all chats. */
  get size(): number {
    return this.#chats.size;
  }

  async isRunning(chatId: string): Promise<boolean> {
    if (this.#running.has(chatId)) return true;
    const { head } = await this.#log.state(chatId);
    // A process that was cut off leaves one of these behind; a live one also has the chat's lease.
    if (head?.open_turn === undefined && head?.pending === undefined) return false;
    return this.#leases.isElsewhere(chatId);
  }

  stop(chatId: string): boolean {
    const turn = this.#running.get(chatId);
    turn?.stop();
    return turn !== undefined;
  }

  async stopAnywhere(chatId: string): Promise<boolean> {
    return this.stop(chatId) || this.#leases.stopElsewhere(chatId);
  }

  /** @param closing ends the wait for other processes. */
  async end(chatId: string, closing: AbortSignal): Promise<void> {
    // What waits here for another process would come before the chat is forgotten.
    this.#stopAsked({ chatId, all: true });
    for (let turn = this.#running.get(chatId); turn !== undefined; ) {
      turn.stop();
      await turn.done.catch(() => undefined); // however it ended
      // The next one of the chat begins before this continues.
      await new Promise((resolve) => setImmediate(resolve));
      turn = this.#running.get(chatId);
    }
    await this.#leases.endElsewhere(chatId, closing);
  }

  /** A turn begins to run. */
  publish(turn: Turn): void {
    for (const listener of this.#listeners) listener(turn);
  }

  onTurn(listener: (turn: Turn) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Queues a turn. @returns what resolves once it has ended, well or not, and nothing of it runs. */
  add(turn: Turn, queued: QueuedTurn): Promise<void> {
    const { chatId } = turn;
    const key = turnKey(chatId, turn.id);
    // Decided before anything is awaited: what comes later waits behind this.
    const mustWait = this.#chats.isLocked(chatId);
    const kept = Promise.withResolvers<void>();
    kept.promise.catch(() => undefined); // handled when its turn comes, maybe long after
    const keep = () => this.#keeping.run(chatId, queued.keep);
    const ran = this.#chats.run(chatId, async () => {
      await kept.promise;
      queued.closing.throwIfAborted();
      const run = (waited: boolean) => this.#run(turn, () => queued.run(mustWait || waited));
      return this.#leases.hold(turn, { waits: keep, closing: queued.closing }, run);
    });
    this.#turns.set(key, turn);
    const gone = () => this.#turns.get(key) === turn && this.#turns.delete(key);
    const refuse = (error: unknown) => {
      gone();
      turn.fail(error); // now: the sender does not wait for the turns before it
      kept.reject(error);
    };
    if (mustWait) keep().then(kept.resolve, refuse);
    else kept.resolve();
    return ran.finally(gone).then(
      (answer) => turn.end(answer),
      (error) => turn.fail(error),
    );
  }

  async #run(turn: Turn, work: () => Promise<TurnAnswer>): Promise<TurnAnswer> {
    this.#running.set(turn.chatId, turn);
    const ended = this.#sessions.turnRuns(turn.chatId);
    try {
      return await work();
    } finally {
      this.#running.delete(turn.chatId);
      ended();
    }
  }

  /** Resolves when the chats of turns that have ended are free for other processes. */
  released(): Promise<void> {
    return this.#leases.released();
  }

  /** The storage closes: what runs is cut off, as by a crash, and nothing more is stored of it. */
  close(): void {
    this.#leases.close();
    for (const turn of this.#turns.values()) turn.fence(closed());
  }

  #stopAsked({ chatId, turnId, all }: StopAsked): void {
    for (const turn of this.#turns.values()) {
      if (turn.chatId !== chatId) continue;
      const isMeant = turn === this.#running.get(chatId) && (turnId ?? turn.id) === turn.id;
      if (all || isMeant) turn.stop();
    }
  }
}

const turnKey = (chatId: string, id: string) => JSON.stringify([chatId, id]);

export function closed(): ThroughlineError {
  return new ThroughlineError("this process is ending", { code: "THROUGHLINE_CLOSED" });
}

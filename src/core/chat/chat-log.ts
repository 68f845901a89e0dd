import {
  absent,
  conflict,
  errorName,
  isThroughlineError,
  type ThroughlineError,
} from "../errors.ts";
import { KeyedMutex } from "../mutex.ts";
import type { Runtime } from "../runtime.ts";
import { prepareAppend } from "../storage/batch.ts";
import type { Cluster } from "../storage/cluster.ts";
import type { FileStore } from "../storage/file-store.ts";
import { checkKey } from "../storage/key.ts";
import type { Lease, Leases, LogState } from "../storage/leases.ts";
import {
  type LogStore,
  logLimits,
  type OpenLog,
  type StoredRecord,
  unlisted,
  update,
} from "../storage/log-store.ts";
import type { Storage } from "../storage/storage.ts";
import { inSpan } from "../telemetry.ts";
import { type ChatHead, chatProjection, readHead } from "./chat-head.ts";
import {
  attachmentsPlace,
  type Loss,
  type OtherMemory,
  type Removed,
  Tombstones,
} from "./tombstones.ts";
import { type ChatState, Transaction } from "./transaction.ts";

/** The collection of the chats' logs: with a chat's id, the name of its lease. */
export const chatsCollection = "chats";

/** What is to be erased. */
export interface Erasure {
  /** Of the records. */
  readonly ids: readonly string[];
  /** The hashes of the files that only they refer to. */
  readonly files: readonly string[];
}

/** Fills a transaction. */
type Decide<T> = (transaction: Transaction) => T | Promise<T>;

/** A chat with its newest records, if they were read. */
interface ReadState extends ChatState {
  readonly newest?: readonly StoredRecord[] | undefined;
}

const missing: ChatState = { seq: 0, head: undefined, damaged: false, mayHold: () => false };

/** A lease that this process has, and how many use it. */
interface HeldChat {
  readonly lease: Lease;
  users: number;
  /** What was read or stored last: a guess, as a lease may be lost. The append's condition finds out. */
  state: ChatState | undefined;
  /** Resolves when the lease is released. */
  readonly gone: PromiseWithResolvers<void>;
}

/**
 * The one way to change a chat: read its state, decide, append under the condition that nothing came
 * between. Shared by all memories whose records lie in chats' logs.
 *
 * A chat is read from its log each time: other processes may write it. What is remembered counts only
 * while this process has the chat's lease, so that no other one can have deleted or erased something,
 * and only for a change that is stored: then the append's condition has found it true.
 */
export class ChatLog {
  readonly ports: Runtime;
  /** The logs of all chats, as they are stored. */
  readonly logs: LogStore;
  /** What was sent with messages, by the chat's id. */
  readonly files: FileStore;
  /** The marks of forgotten chats. */
  readonly tombstones: Tombstones;
  readonly cluster: Cluster;
  readonly #leases: Leases;
  readonly #changes = new KeyedMutex();
  readonly #held = new Map<string, HeldChat>();
  /** What else holds something of chats, in the order in which it hears. */
  readonly others: OtherMemory[] = [];
  /** Chats that are being forgotten. */
  readonly unheard = new Set<string>();

  constructor(storage: Pick<Storage, "logs" | "files" | "leases" | "cluster">, ports: Runtime) {
    this.ports = ports;
    this.logs = storage.logs(chatsCollection, chatProjection);
    this.files = storage.files(chatsCollection);
    // A collection of its own: hashes of forgotten ids, never ids.
    this.tombstones = new Tombstones(storage.logs("forgotten", unlisted));
    this.cluster = storage.cluster;
    this.#leases = storage.leases;
  }

  /** Lets the other memories remove what they hold of a chat, or of one message of it. */
  async removeElsewhere(chatId: string, loss: Loss, id?: string): Promise<Removed[]> {
    const removed = this.others.map(async (other) => other.remove?.(chatId, loss, id) ?? []);
    return (await Promise.all(removed)).flat();
  }

  /**
   * The chat as it is stored.
   *
   * @param limit so many of its newest records come with it, where it has to be read.
   */
  async state(chatId: string, limit = 0): Promise<ReadState> {
    checkChatId(chatId);
    const open = this.logs.opened?.(chatId);
    if (open?.isAhead === false) return stateOf(open);
    const tail = await this.logs.tail(chatId, limit);
    const state = tailState(tail);
    this.#remember(chatId, state);
    return limit === 0 ? state : { ...state, newest: tail?.records };
  }

  /** The same as `state`. @throws ThroughlineError `THROUGHLINE_NOT_FOUND`. */
  async existing(chatId: string, limit = 0): Promise<ReadState & { readonly head: ChatHead }> {
    const state = await this.state(chatId, limit);
    if (state.head === undefined) throw notFound(chatId);
    return { ...state, head: state.head };
  }

  /**
   * What this process knows of a chat that it has. Others may have stored something since; a change that is made
   * on it finds that out.
   */
  known(chatId: string): ChatState | undefined {
    const open = this.logs.opened?.(chatId);
    if (open !== undefined) return open.isAhead ? undefined : stateOf(open);
    return this.#heldHere(chatId)?.state;
  }

  /**
   * Changes a chat. `decide` fills the transaction; it may run again when another writer of the same
   * storage came first, so it must do nothing else. A transaction without records changes nothing.
   *
   * Resolves once the change is stored, with what `decide` returned. Changes of one chat happen in
   * the order of the calls.
   */
  async change<T>(chatId: string, decide: Decide<T>): Promise<T> {
    if (!this.#changes.tryLock(chatId)) await this.#changes.lock(chatId);
    let stored: Promise<void> | undefined;
    let result: T;
    try {
      const open = this.logs.opened?.(chatId);
      if (open === undefined) {
        checkChatId(chatId);
        return await this.#change(chatId, decide);
      }
      const transaction = new Transaction(chatId, stateOf(open), this.ports);
      try {
        const decided = decide(transaction);
        result = decided instanceof Promise ? await decided : decided;
        if (transaction.records.length > 0) stored = this.#commit(chatId, transaction);
        else if (open.isAhead) await open.caughtUp();
        if (stored === undefined && (transaction.records.length > 0 || open.failed)) {
          return await this.#change(chatId, decide);
        }
      } catch (error) {
        // Perhaps it was decided on what was not stored then, or on what others changed since.
        await open.caughtUp();
        if (!open.failed && !isThroughlineError(error, "THROUGHLINE_CONFLICT")) throw error;
        return await this.#change(chatId, decide);
      }
    } finally {
      this.#changes.unlock(chatId);
    }
    // The next change is made on top of this one, and need not wait for it.
    await stored;
    return result;
  }

  /**
   * The same for a chat that exists: it does not bring back one that was forgotten in between.
   *
   * @throws ThroughlineError `THROUGHLINE_NOT_FOUND`.
   */
  changeExisting<T>(chatId: string, decide: Decide<T>): Promise<T> {
    return this.change(chatId, (transaction) => {
      if (transaction.isNewChat) throw notFound(chatId);
      return decide(transaction);
    });
  }

  /**
   * Really removes records of a chat and files, while no turn and no change of it runs. `decide` says which, and
   * takes what the head repeats of them out of the transaction; it may run again, as `change` does.
   * What it adds to the transaction is stored first.
   *
   * @returns how many records were removed, and what else.
   * @throws ThroughlineError `THROUGHLINE_NOT_FOUND`.
   * @throws ThroughlineError `THROUGHLINE_CONFLICT`: another process wrote to the chat each of 100 times;
   *   no record was removed.
   */
  async eraseRecords(
    chatId: string,
    decide: (transaction: Transaction) => Promise<Erasure>,
  ): Promise<{ readonly count: number; readonly removed: readonly Removed[] }> {
    const removed: Removed[] = [];
    const onDamageRemoved = (count: number) => void removed.push({ place: "damaged_bytes", count });
    const erase = async () => {
      const { transaction, erasure } = await this.#change(chatId, async (made) => {
        if (made.isNewChat) throw notFound(chatId);
        return { transaction: made, erasure: await decide(made) };
      });
      const { head, seq: expectedSeq } = transaction;
      const { ids, files } = erasure;
      this.forgetState(chatId);
      // Before the records, which name them: then the same call finds again what a failure leaves.
      const gone = files.length === 0 ? 0 : await this.files.delete(chatId, files);
      if (gone > 0) removed.push({ place: attachmentsPlace, count: gone });
      return this.logs.erase(chatId, ids, { expectedSeq, head, onDamageRemoved });
    };
    return { count: await this.exclusively(chatId, () => update(erase)), removed };
  }

  /**
   * Runs something while no change of this chat runs, and no other process has the chat; it must not
   * call `change` on that chat.
   */
  exclusively<T>(chatId: string, work: () => Promise<T>): Promise<T> {
    return this.alone(chatId, () => this.between(chatId, work));
  }

  /**
   * Runs something within `alone` while no change of this chat runs. It waits for no lease, so it
   * also runs when the lease of `alone` was lost since. A write is then refused if
   * another process wrote first.
   */
  async between<T>(chatId: string, work: () => Promise<T>): Promise<T> {
    checkChatId(chatId);
    return this.#changes.run(chatId, work);
  }

  /**
   * Runs something while no other process has the chat: waits until the one that has it releases it.
   * At once where this process has it.
   */
  async alone<T>(chatId: string, work: () => Promise<T>): Promise<T> {
    return this.#under(this.#joined(chatId) ?? (await this.lease(chatId)), work);
  }

  /** The same, but for what can be left: `undefined` when another process has the chat. */
  async aloneNow<T>(chatId: string, work: () => Promise<T>): Promise<T | undefined> {
    const held = this.#held.get(chatId);
    if (held?.users === 0) await held.gone.promise; // its release is under way
    const lease = this.#joined(chatId) ?? (await this.tryLease(chatId));
    return lease && this.#under(lease, work);
  }

  async #under<T>(lease: Lease, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } finally {
      await lease.release();
    }
  }

  /** Waits until no process has the chat, then has it. */
  async lease(chatId: string, signal?: AbortSignal): Promise<Lease> {
    return this.#hold(chatId, await this.#leases.acquire(leaseName(chatId), { signal }));
  }

  /** The same, `undefined` when another one has it. */
  async tryLease(chatId: string): Promise<Lease | undefined> {
    const lease = await this.#leases.tryAcquire(leaseName(chatId));
    return lease && this.#hold(chatId, lease);
  }

  /** Resolves when nothing in this process has the chat. */
  async free(chatId: string): Promise<void> {
    for (let held = this.#held.get(chatId); held !== undefined; held = this.#held.get(chatId)) {
      await held.gone.promise;
    }
  }

  /** The lease that this process has of the chat: then no other one has it. */
  #heldHere(chatId: string): HeldChat | undefined {
    const held = this.#held.get(chatId);
    return held !== undefined && held.users > 0 && !held.lease.lost.aborted ? held : undefined;
  }

  #hold(chatId: string, lease: Lease): Lease {
    const state = lease.log && tailState(lease.log);
    const held: HeldChat = { lease, users: 0, state, gone: Promise.withResolvers() };
    this.#held.set(chatId, held);
    return this.#share(chatId, held);
  }

  #joined(chatId: string): Lease | undefined {
    const held = this.#heldHere(chatId);
    return held && this.#share(chatId, held);
  }

  /** Lets one more use a lease: the last one releases the chat. */
  #share(chatId: string, held: HeldChat): Lease {
    held.users++;
    let released: Promise<void> | undefined;
    const release = async () => {
      held.users--;
      if (held.users > 0) return;
      await held.lease.release();
      if (this.#held.get(chatId) === held) this.#held.delete(chatId);
      held.gone.resolve();
    };
    const { epoch, lost } = held.lease;
    return {
      epoch,
      lost,
      release: () => {
        released ??= release();
        return released;
      },
    };
  }

  /** Resolves once no change is being made. */
  settled(): Promise<void> {
    return this.#changes.idle();
  }

  /** Forgets what is remembered of a chat, after something else changed its log. */
  forgetState(chatId: string): void {
    this.#remember(chatId, undefined);
  }

  /** Appends to a log that is open. @returns `undefined`: that cannot be done at once. */
  #commit(chatId: string, transaction: Transaction): Promise<void> | undefined {
    touch(transaction);
    const { records, head } = transaction;
    const stored = this.logs.commit?.(chatId, prepareAppend(records, transaction, head));
    if (stored === undefined) return undefined;
    const span = this.ports.telemetry.begin({ type: "append" });
    const done = () => {
      span.end();
      this.#hearAll(transaction);
    };
    stored.then(done, (error) => span.end(errorName(error)));
    return stored;
  }

  #hearAll({ chatId, heard }: Transaction): void {
    if (this.unheard.has(chatId)) return;
    for (const { message, client } of heard) {
      for (const other of this.others) other.heard?.(chatId, message, client);
    }
  }

  async #change<T>(chatId: string, decide: Decide<T>): Promise<T> {
    let guess = this.logs.opened === undefined ? this.known(chatId) : undefined;
    let isGuessed = false;
    let isStoring = false;
    let readSeq = 0;
    let held: HeldChat | undefined;
    const attempt = async () => {
      isStoring = false;
      isGuessed = guess !== undefined;
      const state = guess ?? (await this.state(chatId));
      guess = undefined;
      readSeq = state.seq;
      const transaction = new Transaction(chatId, state, this.ports);
      const result = await decide(transaction);
      held = this.#held.get(chatId);
      isStoring = transaction.records.length > 0;
      if (isStoring) await this.#append(transaction, state);
      else if (isGuessed) throw notFound(chatId); // tried again: no append finds the guess out
      return result;
    };
    return update(attempt, async (error) => {
      this.forgetState(chatId);
      if (!isStoring) return isGuessed;
      // The store writes under the lease that this process has at the time, also if the change does not
      // need it. When that lease was released since, the change is tried again.
      if (isThroughlineError(error, "THROUGHLINE_FENCED")) {
        return held === undefined || held.users === 0 || this.#held.get(chatId) !== held;
      }
      if (isThroughlineError(error, "THROUGHLINE_CONFLICT")) return true;
      // Others may have written the very thing since it was read, such as a removal.
      if (!isThroughlineError(error, "THROUGHLINE_ID_CONFLICT")) return false;
      return (await this.logs.tail(chatId, 0))?.seq !== readSeq;
    });
  }

  /** Appends to a log that ends where the state says. */
  async #append(transaction: Transaction, state: ChatState): Promise<void> {
    touch(transaction);
    const { chatId, head, givenIds } = transaction;
    const records = transaction.records.map(({ seq: _, ...record }) => record);
    const options = { expectedSeq: state.seq, head, hasNewIds: givenIds.length === 0 };
    const seq = await inSpan(this.ports.telemetry, { type: "append" }, () =>
      this.logs.append(chatId, records, options),
    );
    // Another number means that some of these records had been stored before.
    if (seq === transaction.seq) {
      this.#remember(chatId, { seq, head, damaged: state.damaged });
      this.#hearAll(transaction);
    } else this.forgetState(chatId);
  }

  #remember(chatId: string, state: ChatState | undefined): void {
    const held = this.#held.get(chatId);
    if (held !== undefined) held.state = state;
  }
}

function tailState(log: LogState | undefined): ChatState {
  if (log === undefined || log.seq === 0) return missing;
  return { seq: log.seq, head: readHead(log.head), damaged: log.damaged };
}

function stateOf(open: OpenLog): ChatState {
  const mayHold = (id: string) => open.mayHold(id);
  return { seq: open.last.seq, head: readHead(open.head), damaged: open.damaged, mayHold };
}

function leaseName(chatId: string) {
  checkChatId(chatId);
  return { collection: chatsCollection, key: chatId };
}

/** A title and other settings are no activity. */
function touch(transaction: Transaction): void {
  const isActivity = !transaction.records.every((record) => record["kind"] === "metadata");
  if (isActivity) transaction.set({ updated_at: transaction.at });
}

/** A chat id is any text of 1 to 1,024 bytes without NUL and lone surrogates. */
export function checkChatId(chatId: unknown): asserts chatId is string {
  checkKey(chatId, "chat id", logLimits.keyBytes);
}

export function notFound(chatId: string, what = "chat"): ThroughlineError {
  const id = JSON.stringify(chatId);
  const message =
    what === "chat" ? `there is no chat ${id}` : `there is no such ${what} in chat ${id}`;
  return absent(message);
}

export function alreadyThere(chatId: string): ThroughlineError {
  return conflict(`${JSON.stringify(chatId)} exists already`);
}

import { errorName, isThroughlineError } from "../core/errors.ts";
import type { DocumentStore } from "../core/storage/document-store.ts";
import { update } from "../core/storage/log-store.ts";
import {
  type CompanionDocument,
  companionDocument,
  documentKey,
  findDocument,
} from "./companion-document.ts";
import type { Act, Life } from "./life.ts";
import type { MoodEvent } from "./mood-history.ts";
import type { CompanionPorts, CompanionSettings } from "./options.ts";

/** An act of this process that the document may not have yet. */
export interface PendingAct {
  readonly act: Act;
  /** What it made felt; `undefined`: it moved no feeling. */
  readonly felt: readonly MoodEvent[] | undefined;
  /** Acts of a process are counted from 1. */
  readonly number: number;
}

/** The companion whose document is written. */
interface Host {
  /**
   * The document as it is to be written.
   *
   * @param number of the newest act that it has.
   * @param act has yet to happen: it is in the document, and comes to `happened` once that is stored.
   */
  document(isLast: boolean, number: number, act: Act | undefined): CompanionDocument;
  happened(act: Act): void;
  stored(document: CompanionDocument, acts: readonly PendingAct[]): Promise<void>;
  /**
   * Another server wrote this; these acts come on top.
   *
   * @returns them with what they made felt then, or as they were: it is no document of a run, and is written over.
   */
  follow(document: CompanionDocument, acts: readonly PendingAct[]): readonly PendingAct[];
}

const never = Number.POSITIVE_INFINITY;
const firstRetryMs = 1_000;
const lastRetryMs = 30_000;
/** How often a server that shares the companion gives a sign of life at least, in milliseconds. */
const sharedBeatMs = 5_000;
/** Other servers' documents are read at most this often, in milliseconds. */
const readEveryMs = 1_000;

/**
 * Writes the companion's document: when it is due, one write after the other, each the newest state. Where
 * several servers write it, each write asks for the revision that was read. The slower one reads again, and
 * does its acts once more on top.
 */
export class DocumentWriter {
  readonly #ports: Pick<CompanionPorts, "clock" | "logger">;
  readonly #host: Host;
  readonly #documents: DocumentStore;
  /** The id of this process, where several servers write the document. */
  readonly #processId: string | undefined;
  readonly #beatEveryMs: number;
  /** A change is written after this long at the latest, in milliseconds. */
  readonly #saveEveryMs: number;
  #saveAt: number;
  #readAt = never;
  #lastReadAt = Number.NEGATIVE_INFINITY;
  /** Before this nothing is tried again. */
  #retryAt = Number.NEGATIVE_INFINITY;
  #failures = 0;
  #isWriting = false;
  #isClosed = false;
  #revision: number;
  /** Acts of this process that the document may not have, where another server may write it. */
  #pending: readonly PendingAct[] = [];
  #number: number;
  /** The same of the last that is known to be stored. */
  #storedNumber: number;
  /** Settles with the last write that was asked for. */
  #writing: Promise<unknown> = Promise.resolve();

  /** @param revision of the document that the life was read from; 0: there was none. */
  constructor(
    ports: CompanionPorts,
    { saveEveryMs, heartbeatEveryMs }: CompanionSettings,
    host: Host,
    { revision, life }: { readonly revision: number; readonly life: Life },
  ) {
    const { cluster } = ports.storage;
    const { isShared } = cluster;
    this.#ports = ports;
    this.#host = host;
    this.#documents = ports.storage.documents("session");
    this.#processId = isShared ? cluster.processId : undefined;
    this.#revision = revision;
    // The process may have had the companion before.
    this.#number = life.shared.writers[cluster.processId] ?? 0;
    this.#storedNumber = this.#number;
    this.#saveAt = ports.clock.monotonic();
    this.#saveEveryMs = isShared ? 0 : saveEveryMs;
    this.#beatEveryMs = Math.min(heartbeatEveryMs, isShared ? sharedBeatMs : never);
  }

  /** By the monotonic clock; before it nothing is due. */
  get nextAt(): number {
    if (this.#isWriting || this.#isClosed) return never;
    return Math.max(this.#retryAt, Math.min(this.#saveAt, this.#readAt));
  }

  /** Notes an act: it is in the next document. @param isUrgent that is written at the next pass. */
  add(act: Act, felt: readonly MoodEvent[] | undefined, isUrgent: boolean): void {
    const number = ++this.#number;
    if (this.#processId) this.#pending = [...this.#pending, { act, felt, number }];
    const waitMs = isUrgent ? 0 : this.#saveEveryMs;
    this.#saveAt = Math.min(this.#saveAt, this.#ports.clock.monotonic() + waitMs);
  }

  /** Another server wrote the document, or may have. */
  changedElsewhere(): void {
    this.#readAt = Math.min(this.#readAt, this.#lastReadAt + readEveryMs);
  }

  close(): void {
    this.#isClosed = true;
  }

  /** The state as it is when its turn comes. Resolves once it is stored. @param act happens with it, or not at all. */
  save(act?: Act, isLast = false): Promise<void> {
    return this.#inTurn(() => this.#store(act, isLast));
  }

  /** The same, and removes every copy of what was before. */
  saveAlone(): Promise<void> {
    return this.#inTurn(async () => {
      await this.#store();
      await this.#documents.forgetCopies(documentKey);
    });
  }

  readOn(): Promise<void> {
    return this.#inTurn(() => this.#read());
  }

  /** Writes what is due, and does not wait. */
  async pass(now: number): Promise<void> {
    if (now < this.nextAt) return;
    const { clock, logger } = this.#ports;
    const isSave = now >= this.#saveAt;
    this.#isWriting = true;
    // Set at the start, so that a change during the write is not taken for one that it stored.
    if (isSave) this.#saveAt = now + this.#beatEveryMs;
    try {
      await this.#inTurn(() => (isSave ? this.#store() : this.#read()));
      this.#failures = 0;
    } catch (error) {
      const failed = clock.monotonic();
      if (isSave) this.#saveAt = Math.min(this.#saveAt, failed);
      this.#retryAt = failed + Math.min(firstRetryMs * 2 ** this.#failures, lastRetryMs);
      if (this.#failures++ === 0) logger.warn({ error: errorName(error) }, "not saved; again soon");
    }
    this.#isWriting = false;
  }

  /** One write after the other: each takes the state when its turn comes, so that none is older. */
  #inTurn(work: () => Promise<void>): Promise<void> {
    const result = this.#writing.then(work);
    this.#writing = result.catch(() => undefined); // the caller gets the error
    return result;
  }

  async #store(act?: Act, isLast = false): Promise<void> {
    const host = this.#host;
    if (act !== undefined) this.#number++;
    const own = this.#number;
    const done = await update(
      async () => {
        const number = this.#number;
        if (act !== undefined && own <= this.#storedNumber) {
          return { document: host.document(isLast, number, undefined), acts: [] }; // it was, without an answer
        }
        const acts = this.#pending;
        const document = host.document(isLast, number, act);
        const options = this.#processId ? { expectedRevision: this.#revision } : {};
        this.#revision = await this.#documents.write(
          documentKey,
          companionDocument(document),
          options,
        );
        this.#storedNumber = number;
        this.#pending = this.#pending.filter((each) => each.number > number);
        if (act !== undefined) host.happened(act);
        return { document, acts };
      },
      (error) => this.#isBehind(error),
    );
    try {
      await host.stored(done.document, done.acts);
    } catch (error) {
      if (act === undefined) throw error;
      // The act has happened, and is not to be repeated: only what comes after the document is tried again.
      this.#saveAt = this.#ports.clock.monotonic();
      this.#ports.logger.warn({ error: errorName(error) }, "moods were not saved; again soon");
    }
  }

  /** Another server came first, or the answer was lost: what is stored is read. */
  async #isBehind(error: unknown): Promise<boolean> {
    const isBehind = isThroughlineError(error, "THROUGHLINE_CONFLICT");
    const isUnknown = isThroughlineError(error, "THROUGHLINE_OUTCOME_UNKNOWN");
    if (!this.#processId || !(isBehind || isUnknown)) return false;
    try {
      await this.#read();
    } catch (cause) {
      if (isBehind) throw cause;
      return false; // whether it is stored is still unknown, and that is what the caller has to know
    }
    return true;
  }

  /** Reads what another server wrote; what the document has of this one is not done once more. */
  async #read(): Promise<void> {
    if (this.#processId === undefined) return;
    this.#readAt = never;
    this.#lastReadAt = this.#ports.clock.monotonic();
    const { document, revision } = await findDocument(this.#documents);
    if (revision === this.#revision) return;
    this.#revision = revision;
    if (document === undefined) return;
    const stored = document.shared?.writers[this.#processId] ?? 0;
    const done = this.#pending.filter(({ number }) => number <= stored);
    const rest = this.#pending.filter(({ number }) => number > stored);
    this.#storedNumber = stored;
    this.#pending = this.#host.follow(document, rest);
    if (done.length > 0) await this.#host.stored(document, done);
  }
}

import type { Clock } from "../core/clock.ts";
import { errorName, isThroughlineError } from "../core/errors.ts";
import type { Logger } from "../core/logger.ts";
import type { DocumentStore } from "../core/storage/document-store.ts";
import { update } from "../core/storage/log-store.ts";
import {
  type CompanionDocument,
  companionDocument,
  documentKey,
  type FoundDocument,
  findDocument,
} from "./companion-document.ts";
import type { Act } from "./life.ts";
import type { Felt } from "./live-emotions.ts";
import type { CompanionSettings } from "./options.ts";

/** An act that the document does not have yet, and what it made felt. */
export interface PendingAct {
  readonly act: Act;
  readonly felt: Felt | undefined;
}

/** Acts of a process are counted from 1. */
interface NumberedAct extends PendingAct {
  readonly number: number;
}

interface WriterPorts {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly documents: DocumentStore;
  /** The document as it is to be written; given the one before: the same state with a new sign of life. */
  readonly document: (isLast: boolean, before?: CompanionDocument) => CompanionDocument;
  /** A whole state is stored, with these acts. */
  readonly onSaved: (stored: CompanionDocument, acts: readonly PendingAct[]) => Promise<void>;
  /** Present where several servers write it. */
  readonly shared?: SharedPorts | undefined;
}

interface SharedPorts {
  /** Of this process. */
  readonly processId: string;
  /** Another server wrote this; these acts of this one come on top. @returns what they made felt then. */
  readonly follow: (
    document: CompanionDocument,
    acts: readonly PendingAct[],
  ) => readonly PendingAct[];
  /** Tells the other servers that there is another document. */
  readonly publish: () => void;
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
  readonly #ports: WriterPorts;
  readonly #options: CompanionSettings;
  readonly #beatEveryMs: number;
  #saveAt: number;
  #beatAt: number;
  #readAt = never;
  #lastReadAt = Number.NEGATIVE_INFINITY;
  /** Before this nothing is tried again. */
  #retryAt = Number.NEGATIVE_INFINITY;
  #failures = 0;
  #isWriting = false;
  #isClosed = false;
  /** What was written last, or read since: a heartbeat writes it again, and acts come on top of it. */
  #newest: CompanionDocument | undefined;
  #revision: number;
  /** Acts of this process that the document may not have, where another server may write it. */
  #pending: readonly NumberedAct[] = [];
  /** The number of the last act of this process. */
  #number: number;
  /** Settles with the last write that was asked for. */
  #writing: Promise<unknown> = Promise.resolve();

  constructor(
    ports: WriterPorts,
    options: CompanionSettings,
    { revision, document }: Pick<FoundDocument, "revision" | "document">,
  ) {
    const now = ports.clock.monotonic();
    this.#ports = ports;
    this.#options = options;
    this.#revision = revision;
    // The process may have had the companion before.
    this.#number = document?.own.shared?.writers[ports.shared?.processId ?? ""] ?? 0;
    this.#saveAt = now;
    this.#beatEveryMs = Math.min(options.heartbeatEveryMs, ports.shared ? sharedBeatMs : never);
    this.#beatAt = now + this.#beatEveryMs;
  }

  /** The number of the newest act that the next document has. */
  get number(): number {
    return this.#number;
  }

  /** By the monotonic clock; before it nothing is due. */
  get nextAt(): number {
    if (this.#isWriting || this.#isClosed) return never;
    return Math.max(this.#retryAt, Math.min(this.#saveAt, this.#beatAt, this.#readAt));
  }

  /** Writes what is due, and does not wait. @param then called when it is over. */
  tick(now: number, then: () => void): void {
    if (now >= this.nextAt) void this.#pass(now).then(then);
  }

  /** Notes an act: it is in the next document. @param isUrgent that is written at the next pass. */
  add(pending: PendingAct, isUrgent: boolean): void {
    const { clock, shared } = this.#ports;
    if (shared) this.#pending = [...this.#pending, { ...pending, number: ++this.#number }];
    if (!shared && !isUrgent && this.#options.saveEveryMs > 0) return;
    this.#saveAt = Math.min(this.#saveAt, clock.monotonic());
  }

  /** Where several servers write it: takes an act back that was not stored. @returns whether that was done. */
  takeBack(act: Act): boolean {
    const { shared } = this.#ports;
    if (shared === undefined || this.#newest === undefined) return false;
    this.#goOn(this.#newest, (each) => each.act.id !== act.id);
    return true;
  }

  /** Another server wrote the document, or may have. */
  changedElsewhere(): void {
    this.#readAt = Math.min(this.#readAt, this.#lastReadAt + readEveryMs);
  }

  /** Nothing is due any more. */
  close(): void {
    this.#isClosed = true;
  }

  /** The state as it is when its turn comes. Resolves once it is stored. */
  save(isLast = false): Promise<void> {
    return this.#inTurn(() => this.#store(isLast));
  }

  /** The same, and removes every copy of what was before. */
  saveAlone(): Promise<void> {
    return this.#inTurn(async () => {
      await this.#store(false);
      await this.#ports.documents.forgetCopies(documentKey);
    });
  }

  /** Reads what other servers wrote. */
  readOn(): Promise<void> {
    return this.#inTurn(() => this.#read());
  }

  async #pass(now: number): Promise<void> {
    const { clock, logger } = this.#ports;
    const { saveEveryMs } = this.#options;
    const isSave = now >= this.#saveAt;
    const isBeat = now >= this.#beatAt;
    this.#isWriting = true;
    // Set at the start, so that a change during the write is not taken for one that it stored.
    if (isSave) this.#saveAt = saveEveryMs === 0 || this.#ports.shared ? never : now + saveEveryMs;
    try {
      await this.#inTurn(() => {
        if (isSave) return this.#store(false);
        return isBeat ? this.#beat() : this.#read();
      });
      this.#failures = 0;
      if (isSave || isBeat) this.#beatAt = clock.monotonic() + this.#beatEveryMs;
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

  async #store(isLast: boolean): Promise<void> {
    const { stored, acts } = await this.#put(isLast);
    await this.#ports.onSaved(stored, acts);
  }

  /** What was stored last, with a new sign of life: no state is taken. */
  async #beat(): Promise<void> {
    if (this.#ports.shared || this.#newest === undefined) return this.#store(false);
    await this.#put(false, this.#newest);
  }

  #put(isLast: boolean, before?: CompanionDocument) {
    const { documents, shared, document } = this.#ports;
    return update(
      async () => {
        const stored = document(isLast, before);
        const acts = this.#pending;
        const options = shared && { expectedRevision: this.#revision };
        this.#revision = await documents.write(documentKey, companionDocument(stored), options);
        this.#newest = stored;
        const last = acts.at(-1)?.number ?? 0;
        this.#pending = this.#pending.filter(({ number }) => number > last);
        shared?.publish();
        return { stored, acts };
      },
      (error) => this.#isBehind(error),
    );
  }

  /** Another server came first, or the answer was lost: what is stored is read. */
  async #isBehind(error: unknown): Promise<boolean> {
    const isBehind = isThroughlineError(error, "THROUGHLINE_CONFLICT");
    const isUnknown = isThroughlineError(error, "THROUGHLINE_OUTCOME_UNKNOWN");
    if (this.#ports.shared === undefined || !(isBehind || isUnknown)) return false;
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
    const { documents, shared, clock } = this.#ports;
    if (shared === undefined) return;
    this.#readAt = never;
    this.#lastReadAt = clock.monotonic();
    const { document, revision } = await findDocument(documents);
    if (revision === this.#revision) return;
    this.#revision = revision;
    if (document === undefined) return;
    const stored = document.own.shared?.writers[shared.processId] ?? 0;
    const done = this.#pending.filter(({ number }) => number <= stored);
    this.#goOn(document, ({ number }) => number > stored);
    if (done.length > 0) await this.#ports.onSaved(document, done);
  }

  /** Does the acts once more that a document does not have. */
  #goOn(document: CompanionDocument, isLeft: (act: NumberedAct) => boolean): void {
    this.#newest = document;
    const rest = this.#pending.filter(isLeft);
    const felt = this.#ports.shared?.follow(document, rest) ?? [];
    this.#pending = rest.map((each, i) => ({ ...each, ...felt[i] }));
  }
}

import { errorName, isThroughlineError } from "../core/errors.ts";
import type { Logger } from "../core/logger.ts";
import type { DocumentStore } from "../core/storage/document-store.ts";
import { type BootClock, readClock } from "./boot-clock.ts";
import {
  type CompanionDocument,
  companionDocument,
  documentKey,
  emptyDocument,
  type Position,
} from "./companion-document.ts";
import type { StoredDeliveries } from "./deliveries.ts";
import type { EmotionState } from "./emotion/emotion.ts";
import { toSeed } from "./emotion/stored-emotions.ts";
import type { Life } from "./fold.ts";
import type { CompanionSettings } from "./options.ts";
import type { BegunRun } from "./runs.ts";
import {
  closeSchedule,
  type DocumentWrite,
  dueWrite,
  newSaveSchedule,
  type SaveSchedule,
  saveSoon,
  stateChanged,
  writeFailed,
  writeStarted,
  writeSucceeded,
} from "./save-schedule.ts";

interface SnapshotPorts {
  readonly clock: BootClock;
  readonly logger: Logger;
  readonly documents: DocumentStore;
  /** Called before each document is made: what it covers is in the log of acts then. */
  readonly before: () => Promise<void>;
  /** The document as it is to be written; given the one before: the same state with a new sign of life. */
  readonly document: (isLast: boolean, before?: CompanionDocument) => CompanionDocument;
  /** What belongs to a whole state beside the document; once that is stored. */
  readonly afterSave: (stored: CompanionDocument) => Promise<void>;
  /**
   * Present where several processes may write it: each write then asks for the revision of the one
   * before. Called when there is another.
   *
   * @returns the revision to go by; `undefined`: another process leads.
   */
  readonly onConflict?: (() => Promise<number | undefined>) | undefined;
}

const attempts = 5;

/** Writes the companion's document: when it is due, one write after the other, each the newest state. */
export class SnapshotWriter {
  readonly #ports: SnapshotPorts;
  readonly #options: CompanionSettings;
  #schedule: SaveSchedule;
  /** What was written last: a heartbeat writes it again. */
  #written: CompanionDocument | undefined;
  #revision: number;
  /** Settles with the last write that was asked for. */
  #writing: Promise<unknown> = Promise.resolve();

  constructor(ports: SnapshotPorts, options: CompanionSettings, revision: number) {
    this.#ports = ports;
    this.#options = options;
    this.#revision = revision;
    this.#schedule = newSaveSchedule(ports.clock.monotonic(), options);
  }

  /** By the monotonic clock; before it nothing is due. */
  get nextAt(): number {
    return this.#schedule.nextAt;
  }

  /** Writes what is due, and does not wait. @param then called when it is over. */
  tick(now: number, then: () => void): void {
    const due = dueWrite(this.#schedule, now);
    if (due !== undefined) void this.#write(due, now).then(then);
  }

  saveSoon(): void {
    this.#schedule = saveSoon(this.#schedule, this.#ports.clock.monotonic());
  }

  changed(): void {
    this.#schedule = stateChanged(this.#schedule, this.#ports.clock.monotonic());
  }

  /** From now on this process writes the document, beginning with a save at once. */
  takeOver(revision: number): void {
    this.#revision = revision;
    this.#written = undefined;
    this.#schedule = newSaveSchedule(this.#ports.clock.monotonic(), this.#options);
  }

  /** Nothing is due any more. */
  close(): void {
    this.#schedule = closeSchedule(this.#schedule);
  }

  /** The state as it is when its turn comes. Resolves once it is stored. */
  save(isLast = false): Promise<void> {
    return this.#inTurn(() => this.#store(isLast));
  }

  /** The same, and removes every copy of what was before. */
  async saveAlone(): Promise<void> {
    await this.#inTurn(async () => {
      await this.#put(() => this.#ports.document(false));
      await this.#ports.documents.forgetCopies(documentKey);
    });
  }

  async #write(what: DocumentWrite, now: number): Promise<void> {
    const { clock, logger } = this.#ports;
    this.#schedule = writeStarted(this.#schedule, what, now);
    try {
      await this.#inTurn(() => (what === "save" ? this.#store(false) : this.#beat()));
      this.#schedule = writeSucceeded(this.#schedule, clock.monotonic());
    } catch (error) {
      this.#schedule = writeFailed(this.#schedule, what, clock.monotonic());
      const isFirst = this.#schedule.failures === 1;
      if (isFirst) logger.warn({ error: errorName(error) }, "not saved; again soon");
    }
  }

  /** One write after the other: each takes the state when its turn comes, so that none is older. */
  #inTurn(work: () => Promise<void>): Promise<void> {
    const result = this.#writing.then(work);
    this.#writing = result.catch(() => undefined); // the caller gets the error
    return result;
  }

  async #store(isLast: boolean): Promise<void> {
    const stored = await this.#put(() => this.#ports.document(isLast));
    await this.#ports.afterSave(stored);
  }

  /**
   * What was stored last, with a new sign of life: no snapshot is built. Where acts are in a log, each
   * document is of one place in it, and is built whole.
   */
  async #beat(): Promise<void> {
    const written = this.#ports.onConflict === undefined ? this.#written : undefined;
    if (written === undefined) return this.#store(false);
    await this.#put(() => this.#ports.document(false, written));
  }

  async #put(document: () => CompanionDocument): Promise<CompanionDocument> {
    const { documents, before, onConflict } = this.#ports;
    for (let attempt = 1; ; attempt++) {
      await before();
      const value = document();
      try {
        const options = onConflict === undefined ? {} : { expectedRevision: this.#revision };
        this.#revision = await documents.write(documentKey, companionDocument(value), options);
        this.#written = value;
        return value;
      } catch (error) {
        const isConflict = isThroughlineError(error, "THROUGHLINE_CONFLICT");
        const revision = isConflict ? await onConflict?.() : undefined;
        if (revision === undefined || attempt >= attempts) throw error;
        this.#revision = revision;
      }
    }
  }
}

/** What a document is made of. */
interface SnapshotParts {
  readonly clock: BootClock;
  /** The document that this run found. Its unknown fields are written back. */
  readonly left: CompanionDocument | undefined;
  readonly run: BegunRun;
  readonly uptimeMs: number;
  readonly shutdownClean: boolean;
  readonly life: Life;
  /** Its emotions now. */
  readonly emotions: EmotionState;
  readonly deliveries: StoredDeliveries;
  /** Where `life` stands in the log of acts, if there is one. */
  readonly position: Position | undefined;
}

/**
 * The document as it is to be written now.
 *
 * @param last the document that was written last, whose feelings are written again.
 */
export function snapshot(parts: SnapshotParts, last?: CompanionDocument): CompanionDocument {
  const { clock, left = emptyDocument, run, life, deliveries, position } = parts;
  const { conversation, person, clients, config } = life;
  const heartbeat = readClock(clock);
  const emotions = last?.own.emotions ?? parts.emotions;
  return {
    heartbeat,
    shutdownClean: parts.shutdownClean,
    startedAt: run.startedAt.at,
    runId: run.runId,
    uptimeMs: parts.uptimeMs,
    totalRuns: run.totalRuns,
    emotions: toSeed(config, emotions),
    conversation,
    sleepState: life.sleep,
    person,
    own: {
      deliveries,
      clients: [...clients.values()],
      conversationChats: conversation.map(({ chatId }) => chatId),
      emotions,
      saved: last === undefined ? heartbeat : last.own.saved,
      acts: position && { ...position, felt: life.emotions.at },
      others: left.own.others,
    },
    isOriginal: false,
    others: left.others,
  };
}

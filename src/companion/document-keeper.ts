import { errorName, isThroughlineError } from "../core/errors.ts";
import type { JsonObject } from "../core/json.ts";
import type { Logger } from "../core/logger.ts";
import type { DocumentStore } from "../core/storage/document-store.ts";
import { documentKey } from "./boot.ts";
import type { BootClock } from "./boot-clock.ts";
import {
  closeSchedule,
  type DocumentWrite,
  dueWrite,
  newSaveSchedule,
  type SaveOptions,
  type SaveSchedule,
  saveSoon,
  stateChanged,
  writeFailed,
  writeStarted,
  writeSucceeded,
} from "./save-schedule.ts";

export interface KeeperPorts {
  readonly clock: BootClock;
  readonly logger: Logger;
  readonly documents: DocumentStore;
  /** The document as it is to be written; given the one before: the same state with a new sign of life. */
  readonly document: (isLast: boolean, before?: JsonObject) => JsonObject;
  /** What belongs to a whole state beside the document; once that is stored. */
  readonly afterSave: () => Promise<void>;
  /**
   * Present where others may write it: each write then asks for the revision of the one before. Called
   * when there is another.
   */
  readonly onConflict?: (() => void) | undefined;
}

/** Writes the companion's document: when it is due, one write after the other, each the newest state. */
export class DocumentKeeper {
  readonly #ports: KeeperPorts;
  readonly #options: SaveOptions;
  #schedule: SaveSchedule;
  /** What was written last: a heartbeat writes it again. */
  #written: JsonObject | undefined;
  #revision: number;
  /** Settles with the last write that was asked for. */
  #writing: Promise<unknown> = Promise.resolve();

  constructor(ports: KeeperPorts, options: SaveOptions, revision: number) {
    this.#ports = ports;
    this.#options = options;
    this.#revision = revision;
    this.#schedule = newSaveSchedule(ports.clock.monotonic(), options);
  }

  /** By the monotonic clock; before it nothing is due. */
  get nextAt(): number {
    return this.#schedule.nextAt;
  }

  /** Writes what is due, meanwhile. @param then called when it is over. */
  tick(now: number, then: () => void): void {
    const due = dueWrite(this.#schedule, now);
    if (due !== undefined) void this.#write(due, now).then(then);
  }

  /** What this process wrote last, since it keeps the document. */
  get written(): JsonObject | undefined {
    return this.#written;
  }

  saveSoon(): void {
    this.#schedule = saveSoon(this.#schedule, this.#ports.clock.monotonic());
  }

  changed(): void {
    this.#schedule = stateChanged(this.#schedule, this.#ports.clock.monotonic());
  }

  /** Begins anew, with a save at once: from now on this process writes the document. */
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

  /** The same, and drops every copy of what was before. */
  async saveAlone(): Promise<void> {
    await this.#inTurn(async () => {
      await this.#put(this.#ports.document(false));
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
    this.#writing = result.catch(() => undefined); // whoever asked hears of it
    return result;
  }

  async #store(isLast: boolean): Promise<void> {
    await this.#put(this.#ports.document(isLast));
    await this.#ports.afterSave();
  }

  /** What was stored last, with a new sign of life: no snapshot is built. */
  async #beat(): Promise<void> {
    if (this.#written === undefined) return this.#store(false);
    await this.#put(this.#ports.document(false, this.#written));
  }

  async #put(value: JsonObject): Promise<void> {
    const { documents, onConflict } = this.#ports;
    try {
      const options = onConflict === undefined ? {} : { expectedRevision: this.#revision };
      this.#revision = await documents.write(documentKey, value, options);
    } catch (error) {
      if (isThroughlineError(error, "THROUGHLINE_CONFLICT")) onConflict?.();
      throw error;
    }
    this.#written = value;
  }
}

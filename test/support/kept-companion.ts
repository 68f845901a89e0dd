// A companion over several runs in one process: its storage is memory that outlives each of them,
// and whose writes can be watched, held back and refused.
import assert from "node:assert/strict";
import { setImmediate } from "node:timers/promises";
import type { Companion } from "../../src/companion/companion.ts";
import type { CompanionOptions } from "../../src/companion/options.ts";
import { startCompanion } from "../../src/companion/start-companion.ts";
import { ThroughlineError } from "../../src/core/errors.ts";
import type { JsonObject } from "../../src/core/json.ts";
import type { Logger } from "../../src/core/logger.ts";
import type { DocumentStore } from "../../src/core/storage/document-store.ts";
import type { LogProjection, LogStore } from "../../src/core/storage/log-store.ts";
import { openMemoryStorage } from "../../src/core/storage/memory/memory-storage.ts";
import { LocalLeases } from "../../src/core/storage/one-process.ts";
import type { Storage } from "../../src/core/storage/storage.ts";
import { openThroughline, type Throughline } from "../../src/core/throughline.ts";
import { changed } from "./changed.ts";
import { HeldClock } from "./held-clock.ts";
import { HeldTimers } from "./held-timers.ts";

/** A held clock of a machine that tells its boot, and counts how often it is asked. */
export class CountingClock extends HeldClock {
  readings = 0;
  bootId(): string {
    this.readings++;
    return "boot-a";
  }
  uptimeMs(): number {
    return 1_000_000 + this.monotonic();
  }
}

/** Memory that a closed `Throughline` leaves as it is, like a disk. */
export class KeptStorage implements Storage {
  readonly #inner = openMemoryStorage();
  readonly cluster = this.#inner.cluster;

  /** Of each process that opens it: one that was killed holds nothing any more. */
  get leases(): LocalLeases {
    return new LocalLeases();
  }

  /** What was asked to be written as the companion document, stored or not, in this order. */
  // biome-ignore lint/suspicious/noExplicitAny: a test looks into documents of every shape.
  readonly writes: any[] = [];
  /** Document writes reject; appends to the log of moods do; reads of chats do. */
  fails: { documents?: boolean; moods?: boolean; chats?: boolean } = {};
  /** Document writes wait for it. */
  gate: Promise<void> | undefined;

  logs(collection: string, projection: LogProjection): LogStore {
    const inner = this.#inner.logs(collection, projection);
    return changed(inner, {
      append: async (key, ...rest) => {
        if (key === "moods" && this.fails.moods) throw unavailable();
        return inner.append(key, ...rest);
      },
      page: async (...args) => {
        if (collection === "chats" && this.fails.chats) throw unavailable();
        return inner.page(...args);
      },
    });
  }

  documents(collection: string): DocumentStore {
    const inner = this.#inner.documents(collection);
    return changed(inner, {
      write: async (key, value, options) => {
        const copy = structuredClone(value) as JsonObject;
        if (key === "session") this.writes.push(copy);
        await this.gate;
        if (this.fails.documents) throw unavailable();
        return inner.write(key, copy, options);
      },
    });
  }

  files = (collection: string) => this.#inner.files(collection);
  ready = () => this.#inner.ready();
  repairs = () => [];
  onRepair = () => () => undefined;
  close = async () => undefined;
  [Symbol.asyncDispose] = async () => undefined;
}

function unavailable(): ThroughlineError {
  return new ThroughlineError("the disk is away", { code: "THROUGHLINE_UNAVAILABLE" });
}

export interface RunOfCompanion {
  readonly throughline: Throughline;
  readonly companion: Companion;
}

/** One machine: runs begin and end on it, one after the other. */
export class Machine {
  readonly clock = new CountingClock();
  /** Of the run that began last. */
  timers = new HeldTimers(this.clock);
  readonly storage = new KeptStorage();
  readonly logged: string[] = [];
  #ids = 0;
  readonly newId = () => `id-${++this.#ids}`;
  readonly logger: Logger = {
    debug: () => undefined,
    info: () => undefined,
    warn: (fields, message) => void this.logged.push(`${message} ${JSON.stringify(fields)}`),
    error: (fields, message) => void this.logged.push(`${message} ${JSON.stringify(fields)}`),
  };

  /** Begins a run; the one before was killed, unless it was closed. */
  async run(options: CompanionOptions = {}, place: object = {}): Promise<RunOfCompanion> {
    const { clock, newId, logger, storage } = this;
    // Its own timer would pass beside the passes of a test.
    const timers = new HeldTimers(clock);
    this.timers = timers;
    const own = { clock, timers, newId, logger, storage, ...place };
    const throughline = await openThroughline(own);
    return { throughline, companion: await startCompanion(throughline, options) };
  }

  /** Time passes, 50 passes of the loop a second; what they begin is done before the next. */
  async pass(companion: Companion, ms: number, stepMs = 20): Promise<void> {
    for (let passed = 0; passed < ms; passed += stepMs) {
      this.clock.pass(Math.min(stepMs, ms - passed));
      companion.tick();
      await setImmediate();
    }
  }

  /** One pass, without time; what it begins is done. */
  async tick(companion: Companion): Promise<void> {
    companion.tick();
    await setImmediate();
  }

  /** The document that was written last. */
  get written() {
    const last = this.storage.writes.at(-1);
    assert.ok(last, "nothing was written");
    return last;
  }
}

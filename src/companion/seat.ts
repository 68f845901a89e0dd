import { errorName, ThroughlineError } from "../core/errors.ts";
import type { NewId } from "../core/ids.ts";
import { isJsonObject, type Json, type JsonObject } from "../core/json.ts";
import type { Logger } from "../core/logger.ts";
import type { Cluster } from "../core/storage/cluster.ts";
import { companionLease, type Lease, type Leases } from "../core/storage/leases.ts";
import { systemTimers, type Timers } from "../core/timers.ts";
import type { SharedRun } from "./shared-run.ts";

// Several processes have one companion. One of them keeps it: it has the lease, and writes the document
// and the history. All of them feel it: what happens to it in one is told to all, and done by each.
//
//   who       is the companion up?         up        yes: this is its run, and whether I keep it
//   act       this happened to it          saved     the document is another
//   ask       whoever keeps it, do this    answer    it is done
//   forgot    a chat was forgotten: drop texts that quote it

/** How long a process that begins waits for word of others, in milliseconds, when none has the lease. */
const answerMs = 250;
/** Until the storage is asked again after it failed, in milliseconds. */
const pauseMs = 1_000;

/** The companion in this process, as its seat knows it. */
export interface Seated {
  shared(): SharedRun;
  /** Does what was done to the companion in another process. */
  perform(act: unknown): void;
  /** Another process keeps the companion under this run. */
  follow(shared: SharedRun): void;
  /** Keeps the companion from now on. */
  takeOver(): Promise<void>;
  /** Does what another process asked of whoever keeps it. @returns what came of it. */
  serve(request: JsonObject): Promise<number>;
  /** Goes on from the document, which another process wrote. */
  reread(): Promise<void>;
  /** Something may not have been heard here. */
  missed(): void;
  dropTexts(chatId: string): void;
  saveSoon(): void;
}

export interface SeatPorts {
  readonly leases: Leases;
  readonly cluster: Cluster;
  /** @default systemTimers */
  readonly timers?: Timers;
  readonly newId: NewId;
  readonly logger: Logger;
}

interface Asked {
  readonly request: JsonObject;
  readonly answer: PromiseWithResolvers<number>;
}

/**
 * The place of one process among those that have a companion together. Who keeps the companion and ends,
 * dies or sleeps too long is replaced by one of the others; for whoever talks to the companion that is
 * nothing, as it was up all the time.
 */
export class Seat {
  readonly #ports: SeatPorts;
  readonly #closing = new AbortController();
  readonly #heard = Promise.withResolvers<SharedRun>();
  /** What was asked of whoever keeps the companion, and is not done: asked again of the next one. */
  readonly #asked = new Map<string, Asked>();
  readonly #ends: readonly (() => void)[];
  #companion: Seated | undefined;
  #acquiring: Promise<Lease>;
  #lease: Lease | undefined;
  #isKeeper = false;
  #keeping: Promise<void> = Promise.resolve();
  #resign = Promise.withResolvers<void>();

  constructor(ports: SeatPorts) {
    const { cluster } = ports;
    this.#ports = ports;
    this.#ends = [
      cluster.subscribe((told) => this.#told(told)),
      cluster.onMissed(() => this.#missed()),
    ];
    this.tell({ say: "who" });
    this.#acquiring = this.#acquire();
  }

  /** Whether this process keeps the companion: it alone writes. */
  get isKeeper(): boolean {
    return this.#isKeeper && this.#lease?.lost.aborted === false;
  }

  /**
   * Waits until it is known whether the companion is up somewhere.
   *
   * @returns its run; `undefined`: it is up nowhere, and this process is to begin one.
   */
  async take(): Promise<SharedRun | undefined> {
    const { timers = systemTimers } = this.#ports;
    const heard = this.#heard.promise;
    const first = await Promise.race([heard, this.#acquiring.then(() => undefined)]);
    if (first !== undefined) return first;
    // Nobody has it: the companion may be up all the same, between one keeper and the next.
    const { promise: waited, resolve } = Promise.withResolvers<undefined>();
    const cancel = timers.after(answerMs, () => resolve(undefined), { holdsProcess: true });
    try {
      return await Promise.race([heard, waited]);
    } finally {
      cancel();
    }
  }

  /** @param isBegun this process began the run, and keeps the companion. */
  sit(companion: Seated, isBegun: boolean): void {
    this.#companion = companion;
    this.#keeping = this.#keep(companion, isBegun);
  }

  /** Tells the other processes. */
  tell(message: JsonObject): void {
    try {
      this.#ports.cluster.publish({ about: "companion", ...message });
    } catch (error) {
      this.#ports.logger.warn({ error: errorName(error) }, "the others were not told");
    }
  }

  /**
   * Asks whoever keeps the companion to do something, and does it here if that becomes this process.
   *
   * @throws ThroughlineError `THROUGHLINE_CLOSED`: the seat was given up first; else what came of it.
   */
  ask(request: JsonObject): Promise<number> {
    const id = this.#ports.newId();
    const asked = { request, answer: Promise.withResolvers<number>() };
    this.#asked.set(id, asked);
    if (this.isKeeper) void this.#serve(id, request);
    else this.tell({ say: "ask", id, request });
    return asked.answer.promise.finally(() => this.#asked.delete(id));
  }

  /** Somebody else wrote the document: what this process has of it is not the newest. */
  resign(): void {
    this.#isKeeper = false;
    this.#resign.resolve();
  }

  /** Begins to give the seat up: who asks now hears nothing, and nothing more is taken over. */
  retire(): void {
    this.#closing.abort(closed());
  }

  /** Lets go of the companion: another process keeps it from then on. */
  async leave(): Promise<void> {
    this.retire();
    for (const end of this.#ends) end();
    for (const { answer } of this.#asked.values()) answer.reject(closed());
    await this.#keeping;
    const lease = await this.#acquiring.catch(() => undefined); // it never came
    await lease?.release();
  }

  #acquire(): Promise<Lease> {
    const { signal } = this.#closing;
    const acquiring = this.#ports.leases.acquire(companionLease, { signal });
    const acquired = acquiring.then((lease) => {
      this.#lease = lease;
      return lease;
    });
    acquired.catch(() => undefined); // whoever waits for it hears
    return acquired;
  }

  async #keep(companion: Seated, isBegun: boolean): Promise<void> {
    const { signal } = this.#closing;
    const isClosing = new Promise<void>((resolve) => {
      signal.addEventListener("abort", () => resolve(), { once: true });
    });
    for (let isFirst = isBegun; !signal.aborted; isFirst = false) {
      this.#resign = Promise.withResolvers<void>();
      try {
        const lease = await this.#acquiring;
        if (!isFirst) await companion.takeOver();
        if (signal.aborted && !isFirst) return;
        this.#isKeeper = true;
        this.#tellUp(companion);
        for (const [id, { request }] of this.#asked) void this.#serve(id, request);
        const lost = new Promise((resolve) => lease.lost.addEventListener("abort", resolve));
        if (!lease.lost.aborted) await Promise.race([lost, this.#resign.promise, isClosing]);
        if (signal.aborted) return;
        this.#ports.logger.warn({}, "another process keeps the companion now");
      } catch (error) {
        if (signal.aborted) return;
        this.#ports.logger.warn({ error: errorName(error) }, "the companion was not taken over");
        await this.#pause(isClosing);
      }
      await this.#letGo();
      this.#acquiring = this.#acquire();
      this.#missed();
    }
  }

  async #letGo(): Promise<void> {
    this.#isKeeper = false;
    const lease = this.#lease;
    this.#lease = undefined;
    await lease?.release();
  }

  async #pause(isClosing: Promise<void>): Promise<void> {
    const { promise: passed, resolve } = Promise.withResolvers<void>();
    const { timers = systemTimers } = this.#ports;
    const cancel = timers.after(pauseMs, resolve);
    await Promise.race([passed, isClosing]);
    cancel();
  }

  #told(told: JsonObject): void {
    const { about, say } = told;
    if (about !== "companion" || this.#closing.signal.aborted) return;
    const companion = this.#companion;
    if (say === "up") this.#hearOf(readShared(told["run"]), told["keeps"] === true);
    else if (say === "answer") this.#hearAnswer(told);
    else if (companion === undefined) return;
    else if (say === "who") {
      this.#tellUp(companion);
      if (this.isKeeper) companion.saveSoon(); // for whoever asks to go on from
    } else if (say === "act") companion.perform(told["act"]);
    else if (say === "saved" && !this.isKeeper) this.#reread(companion);
    else if (say === "forgot") companion.dropTexts(String(told["chat"]));
    else if (say === "ask" && isJsonObject(told["request"])) {
      if (told["request"]["do"] === "forget") companion.dropTexts(String(told["request"]["chat"]));
      if (this.isKeeper) void this.#serve(String(told["id"]), told["request"]);
    }
  }

  #tellUp(companion: Seated): void {
    const run = JSON.parse(JSON.stringify(companion.shared())) as Json;
    this.tell({ say: "up", keeps: this.isKeeper, run });
  }

  #hearOf(shared: SharedRun | undefined, keeps: boolean): void {
    if (shared === undefined) return;
    this.#heard.resolve(shared);
    if (!keeps || this.isKeeper) return;
    this.#companion?.follow(shared);
    for (const [id, { request }] of this.#asked) this.tell({ say: "ask", id, request });
  }

  #hearAnswer({ id, count, code }: JsonObject): void {
    const asked = this.#asked.get(String(id));
    if (typeof code !== "string") asked?.answer.resolve(Number(count));
    else {
      const says = "whoever keeps the companion could not do it";
      asked?.answer.reject(new ThroughlineError(says, { code: "THROUGHLINE_UNAVAILABLE" }));
    }
  }

  /** Does what was asked, here or elsewhere, and answers. */
  async #serve(id: string, request: JsonObject): Promise<void> {
    let answer: JsonObject;
    try {
      answer = { id, count: (await this.#companion?.serve(request)) ?? 0 };
    } catch (error) {
      if (!this.isKeeper) return; // the next one is asked
      this.#ports.logger.warn({ error: errorName(error) }, "what was asked could not be done");
      answer = { id, code: errorName(error) };
    }
    if (this.#asked.has(id)) this.#hearAnswer(answer);
    else this.tell({ say: "answer", ...answer });
  }

  /** What the others told may have been missed. */
  #missed(): void {
    const { signal } = this.#closing;
    if (signal.aborted) return;
    const companion = this.#companion;
    companion?.missed();
    if (this.isKeeper && companion !== undefined) {
      this.#tellUp(companion); // whoever asked something asks again
      companion.saveSoon();
    } else {
      this.tell({ say: "who" });
      for (const [id, { request }] of this.#asked) this.tell({ say: "ask", id, request });
    }
  }

  #reread(companion: Seated): void {
    companion.reread().catch((error) => {
      this.#ports.logger.warn({ error: errorName(error) }, "the companion was not read again");
    });
  }
}

/** What another process told of the run; `undefined` for what cannot be used. */
function readShared(told: unknown): SharedRun | undefined {
  if (!isJsonObject(told)) return undefined;
  const { run, began, report } = told;
  if (!isJsonObject(run) || !isJsonObject(report)) return undefined;
  const isReport = typeof report["kind"] === "string" && Array.isArray(report["interrupted"]);
  const isCounted =
    Number.isInteger(run["totalSessions"]) && Number.isInteger(report["totalSessions"]);
  const isRun = isStart(run) && isStart(began) && isReport && isCounted;
  return isRun ? (told as unknown as SharedRun) : undefined;
}

function isStart(told: unknown): boolean {
  return isJsonObject(told) && typeof told["runId"] === "string" && isJsonObject(told["startedAt"]);
}

function closed(): ThroughlineError {
  return new ThroughlineError("this run has ended", { code: "THROUGHLINE_CLOSED" });
}

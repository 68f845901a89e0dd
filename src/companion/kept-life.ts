import { closed, errorName, isThroughlineError } from "../core/errors.ts";
import { callBack } from "../core/logger.ts";
import { own } from "../core/shape.ts";
import type { DocumentStore } from "../core/storage/document-store.ts";
import { update } from "../core/storage/log-store.ts";
import {
  type CompanionDocument,
  companionDocument,
  documentKey,
  findDocument,
} from "./companion-document.ts";
import { evolve, lastInstant } from "./emotion/emotion.ts";
import { toSeed } from "./emotion/stored-emotions.ts";
import { readClock } from "./gap.ts";
import {
  type Act,
  type CompanionChange,
  type Folded,
  fold,
  foldAgain,
  type Happening,
  type Life,
  lifeElsewhere,
} from "./life.ts";
import { LiveEmotions } from "./live-emotions.ts";
import { type MoodEvent, MoodHistory } from "./mood-history.ts";
import type { CompanionPorts, CompanionSettings } from "./options.ts";
import { runsProjection } from "./runs.ts";
import type { Servers } from "./servers.ts";

/** An act of this process that the document may not have yet. */
interface PendingAct {
  readonly act: Act;
  /** What it made felt; `undefined`: it moved no feeling. */
  readonly felt: readonly MoodEvent[] | undefined;
  /** Acts of a process are counted from 1. */
  readonly number: number;
}

export interface BegunLife {
  readonly life: Life;
  /** Of the document that it was read from; 0: there was none. */
  readonly revision: number;
  /** Another server began the run. */
  readonly isJoined?: boolean;
  readonly servers?: Servers;
}

const never = Number.POSITIVE_INFINITY;
const firstRetryMs = 1_000;
const lastRetryMs = 30_000;
/** How often a sign of life is given where every change is written at once, and where servers share it. */
const beatMs = 10_000;
const sharedBeatMs = 5_000;
/** Other servers' documents are read at most this often, in milliseconds. */
const readEveryMs = 1_000;

/**
 * The life of a companion in this process, and its document. What happens is an act, which makes another life of it.
 * The document is written when it is due, one write after the other, each the newest state. Where several servers
 * write it, each write asks for the revision that was read. The slower one reads again, and does its acts once more
 * on top.
 */
export class KeptLife {
  readonly ports: CompanionPorts;
  readonly options: CompanionSettings;
  /** `undefined`: this process alone has the companion. */
  readonly servers: Servers | undefined;
  readonly emotions: LiveEmotions;
  readonly history: MoodHistory;
  readonly #documents: DocumentStore;
  readonly #onFelt: () => void;
  readonly #listeners = new Set<(change: CompanionChange) => void>();
  readonly #beatEveryMs: number;
  /** A change is written after this long at the latest, in milliseconds. */
  readonly #saveEveryMs: number;
  #life: Life;
  /** When the run began, by a clock that cannot be set. */
  #upSince: number;
  #saveAt: number;
  #readAt = never;
  #lastReadAt = Number.NEGATIVE_INFINITY;
  /** Before this nothing is tried again. */
  #retryAt = Number.NEGATIVE_INFINITY;
  #failures = 0;
  #isWriting = false;
  /** Something came during a write that is to be written right after it. */
  #isUrgent = false;
  #isClosed = false;
  #revision: number;
  /** Acts of this process that the document may not have, where another server may write it. */
  #pending: readonly PendingAct[] = [];
  #number: number;
  /** The same of the last that is known to be stored. */
  #storedNumber: number;
  /** Settles with the last write that was asked for. */
  #writing: Promise<unknown> = Promise.resolve();

  /** @param onFelt is called when feelings may have moved by more than time. */
  constructor(
    ports: CompanionPorts,
    options: CompanionSettings,
    { life, revision, isJoined = false, servers }: BegunLife,
    onFelt: () => void,
  ) {
    const { clock, newId, storage } = ports;
    const isShared = servers !== undefined;
    this.ports = ports;
    this.options = options;
    this.servers = servers;
    this.#onFelt = onFelt;
    this.#life = life;
    this.#upSince = this.#monotonicAt(life.startedAt);
    this.#documents = storage.documents("session");
    this.#revision = revision;
    // The process may have had the companion before.
    this.#number = life.shared.writers[storage.cluster.processId] ?? 0;
    this.#storedNumber = this.#number;
    this.#saveAt = clock.monotonic();
    this.#saveEveryMs = isShared ? 0 : options.saveEveryMs;
    this.#beatEveryMs = isShared ? sharedBeatMs : options.saveEveryMs || beatMs;
    this.history = new MoodHistory(storage.logs("", runsProjection), newId);
    const act = (happening: Happening) => this.act(happening) ?? [];
    const onSet = () => {
      if (!this.#isClosed) this.#note();
    };
    this.emotions = new LiveEmotions(clock, life, act, onSet);
    if (isJoined) return;
    const { startedAt: at, emotions: state, shared } = life;
    this.history.note({ at, kind: "up", state, events: [], downAt: shared.report.before?.at });
  }

  /** As its acts made it. */
  get life(): Life {
    return this.#life;
  }

  get uptimeMs(): number {
    return this.ports.clock.monotonic() - this.#upSince;
  }

  /** Calls back at every change. @returns a function that ends it. */
  onChange(listener: (change: CompanionChange) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  publish(change: CompanionChange): void {
    callBack(this.#listeners, this.ports.logger, change);
  }

  /**
   * Something happens here.
   *
   * @returns the events that were felt; `undefined`: it moved no feeling at all.
   * @throws as `fold` does.
   */
  act(happening: Happening): readonly MoodEvent[] | undefined {
    const before = this.#life;
    const act = this.#newAct(happening);
    const { life, felt } = fold(before, act);
    this.#become(life);
    if (this.#isClosed) return felt;
    // Where servers share the companion, it is noted as it is stored: others may have come first.
    if (felt !== undefined && this.servers === undefined) this.#note(felt);
    const number = ++this.#number;
    if (this.servers) this.#pending = [...this.#pending, { act, felt, number }];
    // A wound lasts, and a person matters: a crash is to lose neither.
    const isWounded = felt?.some(({ wound }) => wound === "added") === true;
    const isUrgent = isWounded || life.shared.announced !== before.shared.announced;
    const now = this.ports.clock.monotonic();
    const waitMs = isUrgent ? 0 : this.#saveEveryMs;
    this.#saveAt = Math.min(this.#saveAt, now + waitMs);
    if (felt !== undefined) this.#onFelt();
    if (isUrgent && this.servers !== undefined) {
      this.#isUrgent = true;
      this.pass(now);
    }
    return felt;
  }

  /**
   * Stores the state as it is when its turn comes. Resolves once it is stored.
   *
   * @param happening happens with it, or has not happened if it cannot be stored.
   * @throws ThroughlineError the codes of `DocumentStore.write`; `THROUGHLINE_CLOSED`.
   */
  async save(happening?: Happening): Promise<void> {
    if (this.#isClosed) throw closed("this run has ended");
    const act = happening && this.#newAct(happening);
    await this.#inTurn(() => this.#store(act));
  }

  /** The same, and removes every copy of what was before. */
  saveAlone(): Promise<void> {
    return this.#inTurn(async () => {
      await this.#store();
      await this.#documents.forgetCopies(documentKey);
    });
  }

  /** The same once it is closed. @param isEnd the run ends with it. */
  saveLast(isEnd: boolean): Promise<void> {
    return this.#inTurn(() => this.#store(undefined, isEnd));
  }

  readOn(): Promise<void> {
    return this.#inTurn(() => this.#read());
  }

  /** Another server wrote the document, or may have. */
  changedElsewhere(): void {
    this.#readAt = Math.min(this.#readAt, this.#lastReadAt + readEveryMs);
  }

  /** From now on nothing is written but what `saveLast` asks for. */
  close(): void {
    this.#isClosed = true;
  }

  /** Begins to write or read what is due, and does not wait. @param now by the monotonic clock. */
  pass(now: number): void {
    const dueAt = Math.max(this.#retryAt, Math.min(this.#saveAt, this.#readAt));
    if (now >= dueAt && !this.#isWriting && !this.#isClosed) void this.#pass(now);
  }

  async #pass(now: number): Promise<void> {
    const { clock, logger } = this.ports;
    const isSave = now >= this.#saveAt;
    this.#isWriting = true;
    this.#isUrgent = false;
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
    if (this.#isUrgent) this.pass(clock.monotonic());
  }

  /** One write after the other: each takes the state when its turn comes, so that none is older. */
  #inTurn(work: () => Promise<void>): Promise<void> {
    const result = this.#writing.then(work);
    this.#writing = result.catch(() => undefined); // the caller gets the error
    return result;
  }

  async #store(act?: Act, isEnd = false): Promise<void> {
    if (act !== undefined) this.#number++;
    const ownNumber = this.#number;
    const done = await update(
      async () => {
        const number = this.#number;
        const wasStored = act !== undefined && ownNumber <= this.#storedNumber; // without an answer
        const acts = this.#pending;
        const life = act && !wasStored ? foldAgain(this.#life, act).life : this.#life;
        const document = this.#document(life, isEnd);
        if (wasStored) return { document, acts: [] };
        const options = this.servers ? { expectedRevision: this.#revision } : {};
        const value = companionDocument(document);
        this.#revision = await this.#documents.write(documentKey, value, options);
        this.#storedNumber = number;
        this.#pending = this.#pending.filter((each) => each.number > number);
        if (act !== undefined) this.#become(foldAgain(this.#life, act).life);
        return { document, acts };
      },
      (error) => this.#isBehind(error),
    );
    try {
      await this.#stored(done.document, done.acts);
    } catch (error) {
      if (act === undefined) throw error;
      // The act has happened, and is not to be repeated: only what comes after the document is tried again.
      this.#saveAt = this.ports.clock.monotonic();
      this.ports.logger.warn({ error: errorName(error) }, "moods were not saved; again soon");
    }
  }

  /** After the document the history of moods up to it is stored. */
  async #stored(document: CompanionDocument, acts: readonly PendingAct[]): Promise<void> {
    this.servers?.publish("changed");
    const { alive } = document.shared ?? this.#life.shared;
    this.servers?.note(alive);
    // What was dropped is not to come back with the next document.
    this.#life = { ...this.#life, shared: { ...this.#life.shared, alive } };
    const felt = acts.flatMap((each) => (each.felt === undefined ? [] : [each.felt]));
    if (felt.length > 0) this.#note(felt.flat(), document.emotions);
    await this.history.flush();
  }

  /** Another server came first, or the answer was lost: what is stored is read. */
  async #isBehind(error: unknown): Promise<boolean> {
    const isBehind = isThroughlineError(error, "THROUGHLINE_CONFLICT");
    const isUnknown = isThroughlineError(error, "THROUGHLINE_OUTCOME_UNKNOWN");
    if (!this.servers || !(isBehind || isUnknown)) return false;
    try {
      await this.#read();
    } catch (cause) {
      if (isBehind) throw cause;
      return false; // whether it is stored is still unknown, and that is what the caller has to know
    }
    return true;
  }

  /** Reads what another server wrote. What was done here and is not in it comes on top, and nothing twice. */
  async #read(): Promise<void> {
    if (this.servers === undefined) return;
    this.#readAt = never;
    this.#lastReadAt = this.ports.clock.monotonic();
    const { document, revision } = await findDocument(this.#documents);
    if (revision === this.#revision) return;
    this.#revision = revision;
    if (document === undefined) return;
    const stored = document.shared?.writers[this.servers.processId] ?? 0;
    const done = this.#pending.filter(({ number }) => number <= stored);
    this.#pending = this.#pending.filter(({ number }) => number > stored);
    this.#storedNumber = stored;
    this.#follow(document);
    if (done.length > 0) await this.#stored(document, done);
  }

  #follow(document: CompanionDocument): void {
    let life = lifeElsewhere(document, this.#life);
    if (life === undefined) return; // no document of a run: it is written over
    if (life.runId !== this.#life.runId) this.#upSince = this.#monotonicAt(life.startedAt);
    const followed: PendingAct[] = [];
    for (const pending of this.#pending) {
      const folded: Folded = foldAgain(life, pending.act);
      followed.push({ ...pending, felt: folded.felt });
      life = folded.life;
    }
    this.#pending = followed;
    this.#become(life);
    this.#onFelt();
  }

  #document(life: Life, isEnd: boolean): CompanionDocument {
    const emotions = evolve(life.emotions, this.emotions.state.at - life.emotions.at);
    const reading = readClock(this.ports.clock);
    return {
      ...life,
      heartbeat: reading,
      uptimeMs: this.uptimeMs,
      emotions,
      seed: toSeed(life.config, emotions),
      saved: reading,
      isOriginal: false,
      shutdownClean: isEnd,
      shared: this.servers?.signed(life.shared, this.#number, this.#isClosed),
    };
  }

  #newAct(happening: Happening): Act {
    const { clock, newId } = this.ports;
    const felt = Math.min(this.emotions.state.at, lastInstant);
    return { ...happening, id: newId(), felt, at: clock.now(), reading: readClock(clock) };
  }

  /** Continues as acts made it, and tells watchers of what that changed. */
  #become(next: Life): void {
    const before = this.#life;
    this.#life = next;
    const { config, emotions, person, sleep, clients, shared } = next;
    if (emotions !== before.emotions || config !== before.config) {
      this.emotions.become(config, emotions);
    }
    const announcedAt = person && own(shared.announced, person.name);
    const isAnnounced = person && announcedAt !== own(before.shared.announced, person.name);
    if (isAnnounced && announcedAt !== undefined) this.publish({ type: "person", person });
    if (sleep !== before.sleep) this.publish({ type: "sleep", state: sleep });
    if (clients !== before.clients) this.publish({ type: "injects" });
  }

  /** Notes for the history of moods what is felt. */
  #note(events: readonly MoodEvent[] = [], state = this.emotions.state): void {
    this.history.note({ at: this.ports.clock.now(), kind: "felt", state, events });
    this.#onFelt();
  }

  /** An instant of the wall clock by the clock that cannot be set; never one to come. */
  #monotonicAt(at: number): number {
    const { clock } = this.ports;
    return clock.monotonic() - Math.max(0, clock.now() - at);
  }
}

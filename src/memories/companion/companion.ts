import { isoTime } from "../../clock.ts";
import { errorName, invalid, ThroughlineError } from "../../errors.ts";
import type { Json, JsonObject } from "../../json.ts";
import type { DocumentStore } from "../../storage/document-store.ts";
import { type Boot, boot, documentKey, emotionsAtBoot, missedRestart } from "./boot.ts";
import { type BootClock, readClock, storedReading } from "./boot-clock.ts";
import { companionDocument, type PersonSeen } from "./companion-document.ts";
import { ConversationCopy } from "./conversation-copy.ts";
import { builtInEmotions } from "./emotion/built-in-emotions.ts";
import type { Feeling } from "./emotion/feel.ts";
import { forgetInDocument, forgetRepaired } from "./forget-chat.ts";
import { type Felt, hasMoved, LiveEmotions } from "./live-emotions.ts";
import { type MoodCourse, moodCourse } from "./mood-course.ts";
import { MoodHistory } from "./mood-history.ts";
import {
  type CompanionOptions,
  type CompanionPorts,
  type ResolvedOptions,
  resolveOptions,
} from "./options.ts";
import { foreignFields, ownField } from "./own-fields.ts";
import { cleanName } from "./quoted-lines.ts";
import { Receptions } from "./receptions.ts";
import type { RestartReport } from "./restart.ts";
import { runsProjection } from "./runs.ts";
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

export type SleepState = "awake" | "asleep";

/** Something about the companion changed. */
export type CompanionChange =
  | { readonly type: "emotions"; readonly feeling: Feeling }
  | { readonly type: "person"; readonly person: PersonSeen }
  | { readonly type: "sleep"; readonly state: SleepState }
  | { readonly type: "welcomed"; readonly chatId: string };

/** How often the feelings are looked at for what watchers are told, and for sleep. */
const lookEveryMs = 1_000;
const boredEnoughToSleep = 0.8;

/**
 * One run of a companion, from boot to exit: it knows how the last one ended, how it feels and whom it
 * saw, and keeps all of that through whatever happens to the process.
 */
export class Companion implements AsyncDisposable {
  readonly report: RestartReport;
  readonly runId: string;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  readonly emotions: LiveEmotions;
  /** What each chat is told when it is first talked in after a restart. */
  readonly receptions: Receptions;
  readonly #boot: Boot;
  readonly #ports: CompanionPorts;
  readonly #clock: BootClock;
  readonly #documents: DocumentStore;
  readonly #options: ResolvedOptions;
  readonly #history: MoodHistory;
  readonly #conversation: ConversationCopy;
  readonly #startedMonotonic: number;
  readonly #listeners = new Set<(change: CompanionChange) => void>();
  #schedule: SaveSchedule;
  #nextAt: number;
  #lookAt: number;
  #told: Feeling | undefined;
  #boredSince: number | undefined;
  #person: PersonSeen | undefined;
  #sleepState: SleepState;
  #injections: Json;
  /** What was written last: a heartbeat writes it again. */
  #written: JsonObject | undefined;
  /** Settles with the last write that was asked for. */
  #writing: Promise<unknown> = Promise.resolve();
  #closing: Promise<void> | undefined;

  /**
   * Begins a run. Its boot is on record before this resolves; what the run before left is taken over,
   * nothing of it is lost by beginning.
   *
   * @throws ThroughlineError `THROUGHLINE_NEWER_FORMAT`: a later version wrote the document; it was
   *   left as it is. Otherwise the codes of the storage: then no run has begun.
   * @throws TypeError an option is out of its bounds: the same.
   */
  static async start(ports: CompanionPorts, options: CompanionOptions = {}): Promise<Companion> {
    const resolved = resolveOptions(options);
    return new Companion(ports, resolved, await boot(ports, options.pid));
  }

  private constructor(ports: CompanionPorts, options: ResolvedOptions, begun: Boot) {
    const { clock, newId, logger, storage } = ports;
    const { document, report, run } = begun;
    this.#ports = ports;
    this.#clock = clock;
    this.#boot = begun;
    this.#options = options;
    this.report = report;
    this.runId = run.runId;
    this.startedAt = run.startedAt.at ?? clock.now();
    this.#startedMonotonic = clock.monotonic();
    this.#documents = storage.documents("session");
    this.#history = new MoodHistory({ logs: storage.logs("", runsProjection), newId });
    this.#conversation = new ConversationCopy(document);
    this.#person = document?.person;
    this.#sleepState = document?.sleepState === "asleep" ? "asleep" : "awake";
    this.#injections = (ownField(document, "injections") ?? []) as Json;
    const config = this.#options.emotions ?? builtInEmotions;
    const { state, repaired } = emotionsAtBoot(config, begun, clock.now());
    if (repaired.length > 0) logger.warn({ repaired }, "stored emotions were repaired");
    this.emotions = new LiveEmotions(
      { clock, newId, onFelt: (felt) => this.#felt(felt) },
      config,
      state,
    );
    const up = { at: isoTime(this.startedAt), state };
    this.#history.note(up, "up", report.before?.at);
    this.receptions = new Receptions(ports, this, this.#options, {
      stored: ownField(document, "deliveries"),
      ...{ report, missed: missedRestart(begun) },
    });
    const now = clock.monotonic();
    this.#schedule = newSaveSchedule(now, this.#options);
    this.#lookAt = now;
    this.#nextAt = now;
  }

  /** Since the boot, in milliseconds. */
  get uptimeMs(): number {
    return this.#clock.monotonic() - this.#startedMonotonic;
  }

  /** Who was seen last: kept until somebody else is. */
  get person(): PersonSeen | undefined {
    return this.#person;
  }

  get sleepState(): SleepState {
    return this.#sleepState;
  }

  /**
   * One pass of the loop: call it as often as you like, 50 times a second or 5. Costs a comparison
   * when nothing is due, and never waits: what is to be written is written meanwhile.
   */
  tick(): void {
    const now = this.#clock.monotonic();
    if (now < this.#nextAt || this.#closing !== undefined) return;
    if (now >= this.#lookAt) this.#look(now);
    const due = dueWrite(this.#schedule, now);
    if (due !== undefined) void this.#write(due, now);
    this.#nextAt = Math.min(this.#lookAt, this.#schedule.nextAt);
  }

  /** Calls back at every change. @returns a function that ends it. */
  onChange(listener: (change: CompanionChange) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /**
   * Somebody was seen: an act of a person. Saved at the next pass, unless the same person was seen a
   * moment before: who is in view all the time is saved with the rest.
   *
   * @throws ThroughlineError `THROUGHLINE_INVALID`: not a name, of at most 256 characters.
   */
  personSeen(name: string): PersonSeen {
    const clean = typeof name === "string" && name.length <= 256 ? cleanName(name) : undefined;
    if (clean === undefined) throw invalid("a person's name is text of 1 to 256 characters");
    const before = this.#person;
    const seenAt = this.#clock.now();
    const isNews =
      before?.name !== clean || !(seenAt - (before.seenAt ?? 0) < this.#options.saveEveryMs);
    this.#person = { name: clean, seenAt };
    this.emotions.personActed();
    this.emotions.eventIfKnown("face_recognized");
    this.wake();
    if (isNews) this.#saveSoon();
    this.#tell({ type: "person", person: this.#person });
    return this.#person;
  }

  /** A person said this in a chat: it moves the emotions, and wakes. */
  personSaid(chatId: string, text: string): void {
    this.#conversation.add(chatId, { role: "USER", text, at: this.#clock.now() });
    this.emotions.personSaid(text);
    this.wake();
  }

  /** The companion's reply is stored. */
  replied(chatId: string, text: string): void {
    this.#conversation.add(chatId, { role: "ASSISTANT", text, at: this.#clock.now() });
    this.#changed();
    this.emotions.eventIfKnown("conversation_reply");
  }

  wake(): void {
    this.sleep("awake");
  }

  sleep(state: SleepState): void {
    if (state !== "awake" && state !== "asleep") {
      throw invalid("the sleep states are: awake, asleep");
    }
    // Who is woken stays awake for as long as it takes to fall asleep.
    if (state === "awake") this.#boredSince = undefined;
    if (this.#sleepState === state) return;
    this.#sleepState = state;
    this.#changed();
    this.#tell({ type: "sleep", state });
  }

  /**
   * How the companion felt over a span of time.
   *
   * @param span milliseconds since 1970; 2 to 2,000 points.
   */
  async moodCourse(span: { from: number; to: number; points: number }): Promise<MoodCourse> {
    const { configuration } = this.emotions;
    const records = await this.#history.between(configuration, span);
    return moodCourse(configuration, records, span);
  }

  /** Texts that an injector must still deliver; see `PendingInjections`. */
  readonly injections = {
    load: async (): Promise<unknown> => this.#injections,
    /** Resolves once they are stored. */
    save: async (items: readonly JsonObject[]): Promise<void> => {
      this.#injections = items;
      await this.save();
    },
  };

  /**
   * Writes the state now. Resolves once it is stored.
   *
   * @throws ThroughlineError the codes of `DocumentStore.write`; `THROUGHLINE_CLOSED`.
   */
  async save(): Promise<void> {
    if (this.#closing !== undefined) {
      throw new ThroughlineError("this run has ended", { code: "THROUGHLINE_CLOSED" });
    }
    await this.#inTurn(() => this.#store(false));
  }

  /**
   * Drops what is kept here of a chat, from the document and the copies before it. Resolves once their
   * bytes are gone; when it rejects, call it again. It may also be called when the run has ended.
   *
   * @returns how many messages that were.
   */
  async forget(chatId: string): Promise<number> {
    const count = this.#conversation.forget(chatId);
    this.receptions.forget(chatId);
    if (this.#closing !== undefined) {
      await this.#closing.catch(() => undefined); // whoever closed hears of it
      return forgetInDocument(this.#ports.storage, chatId);
    }
    // Whatever is known of the chat here, because what was said long ago may have left this process
    // and not the disk.
    await this.#inTurn(async () => {
      await this.#put(this.#document(false));
      await this.#documents.forgetCopies(documentKey);
    });
    await forgetRepaired(this.#documents, chatId);
    return count;
  }

  /** Ends the run in order: the state and then the end are stored. Nothing is written afterwards. */
  close(reason = "closed"): Promise<void> {
    this.#closing ??= this.#close(reason);
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(reason: string): Promise<void> {
    this.#schedule = closeSchedule(this.#schedule);
    this.#nextAt = Number.POSITIVE_INFINITY;
    try {
      await this.#inTurn(() => {
        this.emotions.suspend();
        const at = isoTime(this.#clock.now());
        this.#history.note({ at, state: this.emotions.state }, "down");
        return this.#store(true);
      });
    } finally {
      await this.#boot.runs.end(reason);
    }
  }

  #felt(felt: Felt): void {
    if (this.#closing !== undefined) return;
    this.#history.note(felt);
    this.#changed();
    // A wound lasts: a crash is not to heal it.
    if (felt.event?.wound === "added") this.#saveSoon();
    // Whoever watches hears of it at the next pass.
    this.#lookAt = this.#nextAt = Math.min(this.#nextAt, this.#clock.monotonic());
  }

  #saveSoon(): void {
    this.#schedule = saveSoon(this.#schedule, this.#clock.monotonic());
    this.#nextAt = Math.min(this.#nextAt, this.#schedule.nextAt);
  }

  #changed(): void {
    this.#schedule = stateChanged(this.#schedule, this.#clock.monotonic());
    this.#nextAt = Math.min(this.#nextAt, this.#schedule.nextAt);
  }

  /** Tells watchers of feelings that moved enough, and falls asleep of boredom. */
  #look(now: number): void {
    this.#lookAt = now + lookEveryMs;
    const feeling = this.emotions.feeling();
    const { publishThreshold } = this.emotions.configuration.settings;
    if (this.#told === undefined || hasMoved(this.#told, feeling, publishThreshold)) {
      this.#told = feeling;
      this.#tell({ type: "emotions", feeling });
    }
    this.#boredSince =
      feeling.boredom >= boredEnoughToSleep ? (this.#boredSince ?? now) : undefined;
    const { sleepAfterBoredMs } = this.#options;
    const isTired = this.#boredSince !== undefined && now - this.#boredSince >= sleepAfterBoredMs;
    if (sleepAfterBoredMs > 0 && isTired) this.sleep("asleep");
  }

  async #write(what: DocumentWrite, now: number): Promise<void> {
    this.#schedule = writeStarted(this.#schedule, what, now);
    try {
      await this.#inTurn(() => (what === "save" ? this.#store(false) : this.#beat()));
      this.#schedule = writeSucceeded(this.#schedule, this.#clock.monotonic());
    } catch (error) {
      this.#schedule = writeFailed(this.#schedule, what, this.#clock.monotonic());
      const isFirst = this.#schedule.failures === 1;
      if (isFirst) this.#ports.logger.warn({ error: errorName(error) }, "not saved; again soon");
    }
    this.#nextAt = Math.min(this.#lookAt, this.#schedule.nextAt);
  }

  /** One write after the other: each takes the state when its turn comes, so that none is older. */
  #inTurn(work: () => Promise<void>): Promise<void> {
    const result = this.#writing.then(work);
    this.#writing = result.catch(() => undefined); // whoever asked hears of it
    return result;
  }

  /** The state as it is now, and the history of moods up to it. */
  async #store(isLast: boolean): Promise<void> {
    await this.#put(this.#document(isLast));
    await this.#history.flush();
  }

  /** What was stored last, with a new sign of life: no snapshot is built. */
  async #beat(): Promise<void> {
    if (this.#written === undefined) return this.#store(false);
    await this.#put(this.#document(false, this.#written));
  }

  async #put(value: JsonObject): Promise<void> {
    await this.#documents.write(documentKey, value);
    this.#written = value;
  }

  #document(isLast: boolean, last?: JsonObject): JsonObject {
    const { document, run } = this.#boot;
    const heartbeat = readClock(this.#clock);
    const common = {
      ...{ run, heartbeat, uptimeMs: this.uptimeMs, shutdownClean: isLast },
      ...{ sleepState: this.#sleepState, person: this.#person, unknown: document?.unknown ?? {} },
      conversation: this.#conversation.messages,
    };
    const own = {
      ...foreignFields(document),
      deliveries: this.receptions.toJson(),
      injections: this.#injections,
      conversation_chats: this.#conversation.chats,
    };
    if (last !== undefined) {
      const { emotions, throughline } = last;
      const kept = throughline as JsonObject;
      const saved = { emotions: kept["emotions"] ?? null, saved: kept["saved"] ?? null };
      return companionDocument({
        ...{ ...common, emotions: emotions as JsonObject },
        throughline: { ...own, ...saved },
      });
    }
    const { emotions, own: state } = this.emotions.stored();
    const saved = storedReading(heartbeat);
    return companionDocument({
      ...common,
      emotions,
      throughline: { ...own, emotions: state, saved },
    });
  }

  #tell(change: CompanionChange): void {
    for (const listener of this.#listeners) {
      try {
        listener(change);
      } catch (error) {
        // The loop, the turn, whoever changed something: none of them is to end with a watcher.
        this.#ports.logger.error(
          { change: change.type, error: errorName(error) },
          "a watcher failed",
        );
      }
    }
  }

  /** For `Receptions`: a chat was told. */
  welcomed(chatId: string): void {
    this.#changed();
    this.#tell({ type: "welcomed", chatId });
  }
}

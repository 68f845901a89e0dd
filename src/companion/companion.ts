import { hashOf } from "../core/chat/tombstones.ts";
import { isoTime } from "../core/clock.ts";
import { isThroughlineError, ThroughlineError } from "../core/errors.ts";
import type { DocumentStore } from "../core/storage/document-store.ts";
import type { LogStore } from "../core/storage/log-store.ts";
import { type ActLog, eraseActs, removeActs } from "./act-log.ts";
import type { Act, Happening, SharedRun, SleepState } from "./acts.ts";
import { type Begun, comeUp, join, runActs, sharedRun } from "./begin.ts";
import { type Boot, missedRestart } from "./boot.ts";
import type { BootClock } from "./boot-clock.ts";
import { Clients } from "./clients.ts";
import { type CompanionDocument, findDocument, type PersonSeen } from "./companion-document.ts";
import { suspend } from "./emotion/acts.ts";
import { evolve } from "./emotion/emotion.ts";
import { factsText, readFacts } from "./facts.ts";
import { followedRun, runsToTakeOver, takeOverRun, withoutInterrupted } from "./failover.ts";
import type { FeltEvent, Life } from "./fold.ts";
import { forgetLeft, forgetStored } from "./forget-chat.ts";
import { Leadership } from "./leader.ts";
import { readLeft } from "./left.ts";
import { type CompanionChange, feltBy, LivingCompanion } from "./life.ts";
import type { Felt, LiveEmotions } from "./live-emotions.ts";
import { type MoodCourse, moodCourse } from "./mood-course.ts";
import { MoodHistory } from "./mood-history.ts";
import {
  type CompanionOptions,
  type CompanionPorts,
  type CompanionSettings,
  companionSettings,
} from "./options.ts";
import type { RestartReport } from "./restart.ts";
import { RestartNotices, type ShownNotice } from "./restart-notices.ts";
import { type RunsLog, runsProjection } from "./runs.ts";
import { type FoldedAct, SharedActs } from "./shared-acts.ts";
import { SnapshotWriter, snapshot } from "./snapshots.ts";

export type { SleepState } from "./acts.ts";
export type { CompanionChange } from "./life.ts";

/** What others felt since the last snapshot that a follower keeps for the history of moods. */
const maxUnsaved = 1_000;

/**
 * One run of a companion, from boot to exit: it knows how the last one ended, how it feels and whom it
 * saw, and keeps all of that through whatever happens to the process.
 *
 * Where several processes have the companion, it is one run for them all: each folds the same log of
 * acts, and one of them leads and writes the document.
 */
export class Companion implements AsyncDisposable {
  /** The notice that each chat gets at its first turn after a restart. */
  readonly notices: RestartNotices;
  /** The runs of programs that are not this one, such as a robot's. */
  readonly clients: Clients;
  #boot: Boot;
  readonly #ports: CompanionPorts;
  readonly #clock: BootClock;
  readonly #documents: DocumentStore;
  readonly #logs: LogStore;
  readonly #options: CompanionSettings;
  readonly #leader: Leadership | undefined;
  readonly #shared: SharedActs | undefined;
  /** Acts that several processes left to this one, which is alone: the first document covers them. */
  #leftLog: ActLog | undefined;
  readonly #snapshots: SnapshotWriter;
  readonly #living: LivingCompanion;
  readonly #history: MoodHistory;
  /** What was felt while another process led: that one stores it, unless it dies first. */
  #unsaved: readonly Felt[] = [];
  /** The run under which this process led last. */
  #ownRun: string | undefined;
  /** The run of a failover that has not ended. */
  #tried: RunsLog | undefined;
  #nextAt: number;
  #closing: Promise<void> | undefined;

  /**
   * Begins a run. Its boot is on record before this resolves; what the run before left is taken over,
   * nothing of it is lost by beginning.
   *
   * @throws ThroughlineError `THROUGHLINE_NEWER_FORMAT`: a later version wrote the document; it was
   *   left as it is. `THROUGHLINE_CONFIGURATION`: an option cannot be used. Otherwise the codes of
   *   the storage: then no run has begun.
   */
  static async start(ports: CompanionPorts, options: CompanionOptions = {}): Promise<Companion> {
    const resolved = companionSettings(options);
    const leader = ports.storage.cluster.isShared ? new Leadership(ports) : undefined;
    try {
      const isUp = (await leader?.isUp()) ?? false;
      const left = await readLeft(ports.storage, resolved.emotions, ports.clock.now());
      const begin = isUp ? join : comeUp;
      const companion = new Companion(ports, resolved, await begin(ports, resolved, left, leader));
      const readOn = () => companion.#shared?.wake();
      leader?.begin({ readOn, takeOver: () => companion.#takeOver() }, !isUp);
      return companion;
    } catch (error) {
      await leader?.leave();
      throw error;
    }
  }

  private constructor(ports: CompanionPorts, options: CompanionSettings, begun: Begun) {
    const { clock, logger, newId, storage } = ports;
    const { life, now, left, leader, log, isJoined } = begun;
    this.#ports = ports;
    this.#clock = clock;
    this.#boot = begun.boot;
    this.#ownRun = isJoined ? undefined : begun.boot.run.runId;
    this.#options = options;
    this.#leader = leader;
    this.#documents = storage.documents("session");
    this.#logs = storage.logs("", runsProjection);
    this.#history = new MoodHistory({ logs: this.#logs, newId });
    this.#leftLog = log === undefined ? left.log : undefined;
    this.#living = new LivingCompanion(
      {
        clock,
        newId,
        logger,
        sleepAfterBoredMs: options.sleepAfterBoredMs,
        onFelt: (felt) => this.#note(felt),
        onAct: (act, felt, before) => this.#acted(act, felt, before),
        leads: () => this.leads,
      },
      life,
      now,
    );
    this.#shared = log && this.#share(log, life);
    const { report, document } = this.#boot;
    const up = { at: isoTime(this.startedAt), state: now, config: life.config };
    if (!isJoined) this.#history.note(up, "up", report.before?.at);
    const missed = isJoined ? undefined : missedRestart(this.#boot);
    this.notices = new RestartNotices(ports, this, options, {
      stored: document?.own.deliveries,
      report,
      missed,
    });
    this.#snapshots = new SnapshotWriter(
      {
        clock,
        logger,
        documents: this.#documents,
        before: async () => this.#shared?.flush(),
        onConflict: leader && (() => this.#revisionOfOurs(leader)),
        document: (isLast, before) => this.#document(isLast, before),
        afterSave: (stored) => this.#saved(stored),
      },
      options,
      this.#boot.revision,
    );
    const clientRuns = () => this.#living.life.clients;
    this.clients = new Clients(ports, this, clientRuns, (happening) => this.#stored(happening));
    this.#nextAt = clock.monotonic();
  }

  get emotions(): LiveEmotions {
    return this.#living.emotions;
  }

  /** How it came up. In a cluster every process has the same report, whichever one leads. */
  get report(): RestartReport {
    return this.#boot.report;
  }

  /** Of the run that the report is of. */
  get runId(): string {
    return this.#boot.began.runId;
  }

  /** When that was: milliseconds since 1970. */
  get startedAt(): number {
    return this.#boot.uptime.startedAt;
  }

  /** Since the boot, in milliseconds. */
  get uptimeMs(): number {
    return this.#boot.uptime.ms;
  }

  /** Who was seen last: kept until somebody else is. */
  get person(): PersonSeen | undefined {
    return this.#living.life.person;
  }

  get sleepState(): SleepState {
    return this.#living.life.sleep;
  }

  /**
   * One pass of the loop, which `startCompanion` runs: call it as often as you like beside that. Costs a
   * comparison when nothing is due, and never waits for what is to be written.
   */
  tick(): void {
    const now = this.#clock.monotonic();
    if (now < this.#nextAt || this.#closing !== undefined) return;
    if (now >= this.#living.lookAt) this.#living.look(now);
    this.#shared?.tick(now);
    if (this.leads) this.#snapshots.tick(now, () => this.#setNext());
    this.#setNext();
  }

  /** Whether this process writes the document. */
  get leads(): boolean {
    return this.#leader?.isLeader ?? true;
  }

  #setNext(): void {
    const writeAt = this.leads ? this.#snapshots.nextAt : Number.POSITIVE_INFINITY;
    this.#nextAt = Math.min(this.#living.lookAt, writeAt);
  }

  /** Calls back at every change. @returns a function that ends it. */
  onChange(listener: (change: CompanionChange) => void): () => void {
    return this.#living.onChange(listener);
  }

  /**
   * Somebody was seen: an act of a person. Call it as often as you like. The same person is announced
   * at most once in 30 s: only then `face_recognized` is felt, watchers are notified, and it is saved at
   * the next pass. In between only the time of the sighting changes.
   *
   * @throws ThroughlineError `THROUGHLINE_INVALID`: not a name, of at most 256 characters.
   */
  personSeen(name: string): PersonSeen {
    return this.#living.see(name);
  }

  /** A person said this in a chat: it moves the emotions, and wakes. */
  personSaid(chatId: string, text: string): void {
    this.#living.act({ kind: "said", chat: chatId, text });
    this.emotions.personSaid(text);
  }

  /** The companion's reply is stored. */
  replied(chatId: string, text: string): void {
    this.#living.act({ kind: "replied", chat: chatId, text });
    this.emotions.eventIfKnown("conversation_reply");
  }

  wake(): void {
    this.sleep("awake");
  }

  /** @throws ThroughlineError `THROUGHLINE_INVALID`: that is no state. */
  sleep(state: SleepState): void {
    this.#living.sleep(state);
  }

  /**
   * What the companion remembers, as a block for the stable part of a prompt: behind the persona, or in
   * the system prompt of a voice model. Read from the option `memory` each time.
   *
   * @returns "" when there is nothing to remember, or the memory cannot be read.
   */
  async facts(): Promise<string> {
    return factsText(await readFacts(this.#options.memory, this.#ports.logger));
  }

  /** For `RestartNotices`: a chat acknowledged one. */
  acknowledged(chatId: string, session?: number, notice?: ShownNotice): void {
    this.#living.act({ kind: "acknowledged", chat: chatId, session, notice });
    this.#living.publish({ type: "acknowledged", chatId });
  }

  /**
   * How the companion felt over a span of time.
   *
   * @param span milliseconds since 1970; 2 to 2,000 points.
   */
  async moodCourse(span: { from: number; to: number; points: number }): Promise<MoodCourse> {
    const { configuration } = this.emotions;
    return moodCourse(configuration, await this.#history.between(configuration, span), span);
  }

  /**
   * Stores the state now. Resolves once it is stored.
   *
   * @throws ThroughlineError the codes of `DocumentStore.write`; `THROUGHLINE_CLOSED`.
   */
  save(): Promise<void> {
    return this.#stored();
  }

  /** Where another process leads, what happened is stored in the log of acts, and that one saves. */
  async #stored(happening?: Happening): Promise<void> {
    if (this.#closing !== undefined) {
      throw new ThroughlineError("this run has ended", { code: "THROUGHLINE_CLOSED" });
    }
    const before = this.#living.life.clients;
    if (happening !== undefined) this.#living.act(happening);
    const { clients } = this.#living.life;
    try {
      if (this.leads) await this.#snapshots.save();
      else await this.#shared?.flush();
    } catch (error) {
      // A log of acts has it still; else it has not happened, and the program may repeat it.
      if (happening?.kind === "client" && this.#shared === undefined)
        this.#living.takeBack(happening.client, before, clients);
      throw error;
    }
  }

  /**
   * Removes what is kept here of a chat, from the document, the copies before it and the log of acts.
   * Resolves once their bytes are gone; when it rejects, call it again. It may also be called when the
   * run has ended.
   *
   * @returns how many messages that were.
   */
  async forget(chatId: string): Promise<number> {
    this.notices.forget(chatId);
    if (this.#closing !== undefined) {
      await this.#closing.catch(() => undefined); // the caller of close() hears of it
      return forgetLeft(this.#ports, chatId);
    }
    const before = this.#living.life.conversation.length;
    const hash = hashOf(chatId);
    this.#living.act({ kind: "forgot", hash });
    this.#boot = withoutInterrupted(this.#boot, hash);
    if (this.#shared !== undefined) {
      await this.#shared.flush();
      return this.#shared.alone(() => forgetStored(this.#ports.storage, chatId));
    }
    // What was said long ago may have left this process and not the disk.
    await this.#snapshots.saveAlone();
    await eraseActs(this.#logs, chatId, undefined);
    return before - this.#living.life.conversation.length;
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
    this.#snapshots.close();
    this.#nextAt = Number.POSITIVE_INFINITY;
    this.#leader?.retire();
    try {
      if (this.leads) await this.#end(reason);
      else await this.#shared?.flush();
    } finally {
      await this.#leader?.leave();
    }
  }

  async #end(reason: string): Promise<void> {
    const { felt } = this.emotions;
    this.#history.note({ ...felt, state: suspend(felt.config, felt.state) }, "down");
    try {
      await this.#snapshots.save(true);
    } catch (error) {
      // Another process leads by now: this one's end is nothing.
      if (!this.#leader || !isThroughlineError(error, "THROUGHLINE_CONFLICT")) throw error;
    } finally {
      await this.#boot.runs.end(reason);
    }
  }

  #acted(act: Act, felt: readonly FeltEvent[], before: Life): void {
    if (this.#closing !== undefined) return;
    const { life } = this.#living;
    for (const each of feltBy(act, felt, before, life)) this.#note(each);
    this.#shared?.add(act);
    this.#snapshots.changed();
    // A wound lasts: a crash is not to heal it. In a log of acts it is stored at once.
    const isUrgent =
      felt.some(({ wound }) => wound === "added") || life.announced !== before.announced;
    if (isUrgent && this.#shared === undefined) this.#snapshots.saveSoon();
    this.#setNext();
  }

  /** Notes for the history of moods what was felt. */
  #note(felt: Felt): void {
    if (this.#closing !== undefined) return;
    if (this.leads) this.#history.note(felt);
    else this.#unsaved = [...this.#unsaved, felt].slice(-maxUnsaved);
    this.#living.lookNow();
  }

  #share(log: ActLog, life: Life): SharedActs {
    const { clock, logger, storage } = this.#ports;
    const reload = async () => {
      const left = await readLeft(storage, this.emotions.configuration, clock.now());
      if (left.shared !== undefined) this.#hasRun(left.shared);
      return left;
    };
    const publish = () => this.#leader?.publish("acts");
    const ports = { clock, logger, publish, reload, onOthers: this.#follow.bind(this) };
    return new SharedActs(ports, log, life);
  }

  /** Other processes did something: `next` is what all acts make. */
  #follow(others: readonly FoldedAct[], next: Life): void {
    for (const { act, felt, before, life } of others) {
      for (const each of feltBy(act, felt, before, life)) this.#note(each);
      if (act.kind === "up") this.#hasRun(act.shared);
      else if (act.kind === "forgot") {
        this.notices.forgetHash(act.hash);
        this.#boot = withoutInterrupted(this.#boot, act.hash);
      } else if (act.kind === "acknowledged") {
        this.notices.acknowledgedElsewhere(act.chat, act.session, act.notice);
        if (act.chat !== "") this.#living.publish({ type: act.kind, chatId: act.chat });
      }
    }
    if (this.#closing !== undefined) return;
    this.#living.become(next);
    this.#snapshots.changed();
    this.#living.lookNow();
    this.#setNext();
  }

  /** The run that the companion has, whichever process began it. */
  #hasRun(shared: SharedRun): void {
    this.#boot = followedRun(this.#boot, shared);
    this.notices.cameUp(this.report);
  }

  async #takeOver(): Promise<void> {
    this.#tried = await runsToTakeOver(this.#ports, this.#tried);
    const { clock, storage } = this.#ports;
    const left = await readLeft(storage, this.emotions.configuration, clock.now());
    const boot = await takeOverRun(this.#boot, left, { runs: this.#tried, pid: this.#options.pid });
    if (this.#closing !== undefined) return boot.runs.end();
    this.#boot = boot;
    this.#ownRun = boot.run.runId;
    const since = left.savedAt?.at ?? 0;
    this.#history.startOver(this.#unsaved.filter(({ at }) => Date.parse(at) > since));
    this.#history.note(this.emotions.felt, "up");
    const shared = sharedRun(boot);
    const { configuration } = this.emotions;
    this.#shared?.add(this.#living.newAct({ kind: "up", shared, configuration }));
    this.#snapshots.takeOver(boot.revision);
    await this.#snapshots.save(); // so that the leader before, should it wake, writes no more
    this.#tried = undefined;
    this.#unsaved = [];
    this.#nextAt = clock.monotonic();
    if (this.#closing !== undefined) await this.#end("closed");
  }

  /** Somebody else wrote the document. @returns its revision, if that was no other leader. */
  async #revisionOfOurs(leader: Leadership): Promise<number | undefined> {
    const { document, revision } = await findDocument(this.#documents);
    // One that forgets a chat leaves the run as it is.
    if (revision === 0 || document?.runId === this.#ownRun) return revision;
    leader.stepDown();
    return undefined;
  }

  /** After the document the history of moods up to it is stored, and what it covers can go. */
  async #saved({ own }: CompanionDocument): Promise<void> {
    await this.#history.flush();
    const shared = this.#shared;
    if (shared !== undefined && own.acts !== undefined) {
      const at = (happening: Happening) => this.#living.newAct(happening);
      const first = ({ config, emotions }: Life) => runActs(this.#boot, config, emotions).map(at);
      await shared.compact(own.acts, first, (next) => at({ kind: "end", next }));
    } else if (this.#leftLog !== undefined) {
      await removeActs(this.#logs);
      this.#leftLog = undefined;
    }
  }

  #document(isLast: boolean, last?: CompanionDocument): CompanionDocument {
    const { document: left, run } = this.#boot;
    const life = this.#shared?.confirmed ?? this.#living.life;
    const parts = {
      left,
      run,
      life,
      clock: this.#clock,
      uptimeMs: this.uptimeMs,
      shutdownClean: isLast,
      emotions: evolve(life.emotions, this.emotions.state.at - life.emotions.at),
      deliveries: this.notices.stored,
      position: (this.#shared ?? this.#leftLog)?.position,
    };
    return snapshot(parts, last);
  }
}

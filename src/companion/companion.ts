import { hashOf } from "../core/chat/tombstones.ts";
import { type Clock, isoTime } from "../core/clock.ts";
import { isThroughlineError, ThroughlineError } from "../core/errors.ts";
import {
  type Boot,
  beginRun,
  joinedLife,
  joinRun,
  lifeAtBoot,
  withoutInterrupted,
} from "./boot.ts";
import { Clients } from "./clients.ts";
import { readClock } from "./clock-reading.ts";
import { type CompanionDocument, findDocument, type PersonSeen } from "./companion-document.ts";
import { DocumentWriter, type PendingAct } from "./document-writer.ts";
import { suspend } from "./emotion/acts.ts";
import { factsText, readFacts } from "./facts.ts";
import { forgetLeft } from "./forget-chat.ts";
import {
  type Act,
  type Folded,
  foldAgain,
  type Happening,
  type Life,
  lifeOf,
  type SleepState,
} from "./life.ts";
import type { Felt, LiveEmotions } from "./live-emotions.ts";
import { type CompanionChange, feltBy, LivingCompanion } from "./living.ts";
import { type MoodCourse, moodCourse } from "./mood-course.ts";
import { MoodHistory } from "./mood-history.ts";
import {
  type CompanionOptions,
  type CompanionPorts,
  type CompanionSettings,
  companionSettings,
} from "./options.ts";
import type { JudgedRestart, RestartReport } from "./restart.ts";
import { RestartNotices, type ShownNotice } from "./restart-notices.ts";
import { recordEnd, runsProjection } from "./runs.ts";
import { lookForRun, Servers } from "./servers.ts";
import { snapshot } from "./snapshot.ts";

export type { SleepState } from "./life.ts";
export type { CompanionChange } from "./living.ts";

/**
 * One run of a companion, from boot to exit: it knows how the last one ended, how it feels and whom it
 * saw, and keeps all of that through whatever happens to the process.
 *
 * Where several servers have the companion, it is one run for them all: each writes the document on top of
 * what the others wrote.
 */
export class Companion implements AsyncDisposable {
  /** The notice that each chat gets at its first turn after a restart. */
  readonly notices: RestartNotices;
  /** The runs of programs that are not this one, such as a robot's. */
  readonly clients: Clients;
  #boot: Boot;
  readonly #ports: CompanionPorts;
  readonly #clock: Clock;
  readonly #options: CompanionSettings;
  readonly #servers: Servers | undefined;
  readonly #writer: DocumentWriter;
  readonly #living: LivingCompanion;
  readonly #history: MoodHistory;
  #nextAt: number;
  #closing: Promise<void> | undefined;

  /**
   * Begins a run. Its boot is on record before this resolves; what the run before left is taken over,
   * nothing of it is lost by beginning. Where another server has the companion, this one joins its run.
   *
   * @throws ThroughlineError `THROUGHLINE_NEWER_FORMAT`: a later version wrote the document; it was
   *   left as it is. `THROUGHLINE_CONFIGURATION`: an option cannot be used. Otherwise the codes of
   *   the storage: then no run has begun.
   */
  static async start(ports: CompanionPorts, options: CompanionOptions = {}): Promise<Companion> {
    const resolved = companionSettings(options);
    const documents = ports.storage.documents("session");
    if (!ports.storage.cluster.isShared) {
      const found = await findDocument(documents);
      return new Companion(ports, resolved, await beginRun(ports, resolved, found));
    }
    const servers = new Servers(ports);
    try {
      return await servers.alone(() => Companion.#startShared(ports, resolved, servers));
    } catch (error) {
      servers.leave();
      throw error;
    }
  }

  static async #startShared(
    ports: CompanionPorts,
    options: CompanionSettings,
    servers: Servers,
  ): Promise<Companion> {
    const { isUp, found } = await lookForRun(ports, servers);
    const boot = isUp ? joinRun(ports, found) : await beginRun(ports, options, found);
    if (boot === undefined) {
      const says = "another server has the companion, and what it stored cannot be read";
      throw new ThroughlineError(says, { code: "THROUGHLINE_UNAVAILABLE" });
    }
    const companion = new Companion(ports, options, boot, { servers, isJoined: isUp });
    // Before another server may start: it joins this run.
    if (!isUp) await companion.#writer.save();
    servers.begin({
      changed: () => companion.#changedElsewhere(),
      told: (notice) => companion.#toldElsewhere(notice as unknown as ShownNotice),
    });
    return companion;
  }

  private constructor(
    ports: CompanionPorts,
    options: CompanionSettings,
    boot: Boot,
    shared?: { readonly servers: Servers; readonly isJoined: boolean },
  ) {
    const { clock, logger, newId, storage } = ports;
    const isJoined = shared?.isJoined === true;
    this.#ports = ports;
    this.#clock = clock;
    this.#boot = boot;
    this.#options = options;
    this.#servers = shared?.servers;
    this.#history = new MoodHistory({ logs: storage.logs("", runsProjection), newId });
    const life = isJoined ? joinedLife(boot, options, clock) : lifeAtBoot(boot, options, clock);
    this.#living = new LivingCompanion(
      {
        clock,
        newId,
        logger,
        sleepAfterBoredMs: options.sleepAfterBoredMs,
        onFelt: (felt) => this.#note(felt),
        onAct: (act, folded, before) => this.#acted(act, folded, before),
      },
      life,
      life.emotions,
    );
    if (!isJoined) {
      const up = { at: isoTime(this.startedAt), state: life.emotions, config: life.config };
      this.#history.note(up, "up", boot.report.before?.at);
    }
    this.notices = new RestartNotices(ports, this, options);
    const servers = this.#servers;
    this.#writer = new DocumentWriter(
      {
        clock,
        logger,
        documents: storage.documents("session"),
        document: (isLast, before) => this.#document(isLast, before),
        onSaved: (stored, acts) => this.#saved(stored, acts),
        shared: servers && {
          processId: storage.cluster.processId,
          follow: (document, acts) => this.#follow(document, acts),
          publish: () => servers.publish("changed"),
        },
      },
      options,
      boot,
    );
    const clientRuns = () => this.#living.life.clients;
    this.clients = new Clients(ports, this, clientRuns, (happening) => this.#stored(happening));
    this.#nextAt = clock.monotonic();
  }

  get emotions(): LiveEmotions {
    return this.#living.emotions;
  }

  /** How it came up: the same at every server. */
  get report(): RestartReport {
    return this.#boot.report;
  }

  /** The newest restarts, the oldest first. */
  get restarts(): readonly JudgedRestart[] {
    return this.#boot.restarts;
  }

  /** The newest run of which a model of somebody's own was told, for all chats. */
  get told(): number | undefined {
    return this.#living.life.told;
  }

  /** Of the run that the report is of. */
  get runId(): string {
    return this.#boot.run.runId;
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
    this.#writer.tick(now, () => this.#setNext());
    this.#setNext();
  }

  #setNext(): void {
    this.#nextAt = Math.min(this.#living.lookAt, this.#writer.nextAt);
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

  /** For `RestartNotices`: a chat got one. */
  acknowledged(notice: ShownNotice): void {
    this.#servers?.publish("told", { notice: { ...notice } });
    this.#living.publish({ type: "acknowledged", chatId: notice.chatId });
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

  /** Reads what other servers stored, if there are any. */
  readOn(): Promise<void> {
    return this.#writer.readOn();
  }

  /** Does something, and stores it. What could not be stored has not happened. */
  async #stored(happening?: Happening): Promise<void> {
    if (this.#closing !== undefined) {
      throw new ThroughlineError("this run has ended", { code: "THROUGHLINE_CLOSED" });
    }
    const before = this.#living.life.clients;
    const act = happening && this.#living.act(happening).act;
    const { clients } = this.#living.life;
    try {
      await this.#writer.save();
    } catch (error) {
      const isUnknown = isThroughlineError(error, "THROUGHLINE_OUTCOME_UNKNOWN");
      const isTaken = act?.kind === "client" && !(isUnknown && this.#servers !== undefined);
      if (isTaken && !this.#writer.takeBack(act)) {
        this.#living.takeBack(act.client, before, clients);
      }
      throw error;
    }
  }

  /**
   * Removes what is kept here of a chat, from the document and the copies before it. Resolves once their
   * bytes are gone; when it rejects, call it again. It may also be called when the run has ended.
   *
   * @returns how many messages that were.
   */
  async forget(chatId: string): Promise<number> {
    this.notices.forget(chatId);
    if (this.#servers !== undefined && this.#closing === undefined) await this.readOn();
    if (this.#closing !== undefined) {
      await this.#closing.catch(() => undefined); // the caller of close() hears of it
      return forgetLeft(this.#ports, chatId);
    }
    const before = this.#living.life.conversation.length;
    const hash = hashOf(chatId);
    this.#boot = withoutInterrupted(this.#boot, hash);
    this.#living.act({ kind: "forgot", hash });
    const count = before - this.#living.life.conversation.length;
    // What was said long ago may have left this process and not the disk.
    await this.#writer.saveAlone();
    return count;
  }

  /**
   * Leaves. The last server that has the companion ends the run in order: the state and then the end are
   * stored. Nothing is written afterwards.
   */
  close(reason = "closed"): Promise<void> {
    this.#closing ??= this.#close(reason);
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(reason: string): Promise<void> {
    const servers = this.#servers;
    this.#writer.close();
    this.#nextAt = Number.POSITIVE_INFINITY;
    if (servers === undefined) return this.#end(reason);
    try {
      await servers.alone(async () => {
        servers.retire();
        const { runId } = this;
        const isUp = await servers.isUp();
        // Another server may have begun a run that this one did not hear of.
        await this.readOn();
        if (isUp || this.runId !== runId) await this.#writer.save();
        else await this.#end(reason);
      });
    } finally {
      servers.leave();
    }
  }

  async #end(reason: string): Promise<void> {
    const { felt } = this.emotions;
    this.#history.note({ ...felt, state: suspend(felt.config, felt.state) }, "down");
    try {
      await this.#writer.save(true);
    } finally {
      const logs = this.#ports.storage.logs("", runsProjection);
      await recordEnd(logs, this.#clock, this.#boot.run, reason);
    }
  }

  #acted(act: Act, folded: Folded, before: Life): void {
    if (this.#closing !== undefined) return;
    const felt = feltBy(act, folded, before);
    // Where servers share the companion, it is noted as it is stored: others may have come first.
    if (felt !== undefined && this.#servers === undefined) this.#note(felt);
    // A wound lasts: a crash is not to heal it.
    const isUrgent =
      folded.felt.some(({ wound }) => wound === "added") ||
      folded.life.announced !== before.announced;
    this.#writer.add({ act, felt }, isUrgent);
    if (felt !== undefined) this.#living.lookNow();
    this.#setNext();
    if (isUrgent && this.#servers !== undefined) this.tick();
  }

  /** Notes for the history of moods what was felt. */
  #note(felt: Felt): void {
    if (this.#closing !== undefined) return;
    this.#history.note(felt);
    this.#living.lookNow();
  }

  /** After the document the history of moods up to it is stored. */
  async #saved({ own }: CompanionDocument, acts: readonly PendingAct[]): Promise<void> {
    const felt = acts.flatMap((each) => each.felt ?? []);
    const state = own.emotions;
    if (felt.length > 0 && state !== undefined) {
      const events = felt.flatMap((each) => each.events ?? []);
      const { config } = this.#living.life;
      this.#history.note({ at: isoTime(this.#clock.now()), state, config, events });
    }
    await this.#history.flush();
  }

  #changedElsewhere(): void {
    this.#writer.changedElsewhere();
    this.#setNext();
  }

  #toldElsewhere(notice: ShownNotice): void {
    this.notices.show(notice);
    this.#living.publish({ type: "acknowledged", chatId: notice.chatId });
  }

  /** Another server wrote this: what was done here and is not in it comes on top. */
  #follow(document: CompanionDocument, acts: readonly PendingAct[]): readonly PendingAct[] {
    const boot = joinRun(this.#ports, { document, revision: 0 }, this.#boot);
    const isAnother = boot !== undefined && boot.run.runId !== this.runId;
    if (boot !== undefined) this.#boot = boot;
    if (isAnother) this.notices.cameUp();
    let life = lifeOf(document, document.own.emotions ?? this.emotions.state, this.#living.life);
    const pending = acts.map(({ act }) => {
      const before = life;
      const folded = foldAgain(before, act);
      life = folded.life;
      return { act, felt: feltBy(act, folded, before) };
    });
    for (const [hash, at] of life.forgot) {
      if (at >= this.startedAt) this.#boot = withoutInterrupted(this.#boot, hash);
    }
    this.#living.become(life);
    this.#living.lookNow();
    return pending;
  }

  #document(isLast: boolean, last?: CompanionDocument): CompanionDocument {
    const { processId } = this.#ports.storage.cluster;
    const parts = {
      boot: this.#boot,
      life: this.#living.life,
      now: this.emotions.state,
      heartbeat: readClock(this.#clock),
      shutdownClean: isLast,
      writer: this.#servers && { processId, number: this.#writer.number },
    };
    return snapshot(parts, last);
  }
}

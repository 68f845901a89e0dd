import { hashOf } from "../core/chat/tombstones.ts";
import type { Clock } from "../core/clock.ts";
import { invalid, ThroughlineError } from "../core/errors.ts";
import { thrown } from "../core/logger.ts";
import { own } from "../core/shape.ts";
import { beginRun, joinRun } from "./boot.ts";
import { Clients } from "./clients.ts";
import { readClock } from "./clock-reading.ts";
import { type CompanionDocument, findDocument, type PersonSeen } from "./companion-document.ts";
import { DocumentWriter, type PendingAct } from "./document-writer.ts";
import { suspend } from "./emotion/acts.ts";
import { lastInstant } from "./emotion/emotion.ts";
import type { Feeling } from "./emotion/feel.ts";
import { factsText, readFacts } from "./facts.ts";
import { forgetLeft } from "./forget-chat.ts";
import {
  type Act,
  type CompanionChange,
  documentOf,
  type Folded,
  fold,
  foldAgain,
  type Happening,
  type Life,
  lifeElsewhere,
  type SleepState,
} from "./life.ts";
import { hasMoved, LiveEmotions } from "./live-emotions.ts";
import { type MoodCourse, moodCourse } from "./mood-course.ts";
import { type MoodEvent, MoodHistory } from "./mood-history.ts";
import {
  type CompanionOptions,
  type CompanionPorts,
  type CompanionSettings,
  companionSettings,
} from "./options.ts";
import { cleanName } from "./quoted-lines.ts";
import type { RestartReport } from "./restart.ts";
import { RestartNotices, type ShownNotice } from "./restart-notices.ts";
import { recordEnd, runsProjection } from "./runs.ts";
import { Servers } from "./servers.ts";

export type { CompanionChange, SleepState } from "./life.ts";

/** How often the feelings are looked at to notify watchers, and for sleep. */
const lookEveryMs = 1_000;
const boredEnoughToSleep = 0.8;

/**
 * One run of a companion, from boot to exit: it knows how the last one ended, how it feels and whom it
 * saw, and keeps all of that through whatever happens to the process.
 *
 * All that it is lies in one value, its life, which is its document. What happens is an act, which makes another
 * life of it (`fold`), and is written by the `DocumentWriter`. Where several servers have the companion, it is one
 * run for them all: each writes the document on top of what the others wrote.
 */
export class Companion implements AsyncDisposable {
  readonly emotions: LiveEmotions;
  /** The notice that each chat gets at its first turn after a restart. */
  readonly notices: RestartNotices;
  /** The runs of programs that are not this one, such as a robot's. */
  readonly clients: Clients;
  readonly #ports: CompanionPorts;
  readonly #clock: Clock;
  readonly #options: CompanionSettings;
  readonly #servers: Servers | undefined;
  readonly #writer: DocumentWriter;
  readonly #history: MoodHistory;
  readonly #listeners = new Set<(change: CompanionChange) => void>();
  /** As its acts made it. */
  #life: Life;
  /** When the run began, by a clock that cannot be set. */
  #upSince: number;
  #lookAt: number;
  #published: Feeling | undefined;
  #boredSince: number | undefined;
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
    const settings = companionSettings(options);
    if (!ports.storage.cluster.isShared) {
      const found = await findDocument(ports.storage.documents("session"));
      const life = await beginRun(ports, settings, found);
      return new Companion(ports, settings, life, { revision: found.revision });
    }
    const servers = new Servers(ports);
    try {
      return await servers.alone(() => Companion.#startShared(ports, settings, servers));
    } catch (error) {
      servers.leave();
      throw error;
    }
  }

  static async #startShared(
    ports: CompanionPorts,
    settings: CompanionSettings,
    servers: Servers,
  ): Promise<Companion> {
    const { isUp: isJoined, found } = await servers.look();
    const { document, revision } = found;
    const life = isJoined
      ? joinRun(ports, settings, document)
      : await beginRun(ports, settings, found);
    if (life === undefined) {
      const says = "another server has the companion, and what it stored cannot be read";
      throw new ThroughlineError(says, { code: "THROUGHLINE_UNAVAILABLE" });
    }
    const companion = new Companion(ports, settings, life, { revision, isJoined, servers });
    // Before another server may start: it joins this run.
    if (!isJoined) await companion.#writer.save();
    servers.begin({
      changed: () => companion.#writer.changedElsewhere(),
      told: (notice) => companion.#show(notice as unknown as ShownNotice),
    });
    return companion;
  }

  private constructor(
    ports: CompanionPorts,
    options: CompanionSettings,
    life: Life,
    from: { revision: number; isJoined?: boolean; servers?: Servers },
  ) {
    const { revision, isJoined = false, servers } = from;
    const { clock, newId, storage } = ports;
    this.#ports = ports;
    this.#clock = clock;
    this.#options = options;
    this.#servers = servers;
    this.#life = life;
    this.#upSince = this.#monotonicAt(life.startedAt);
    this.#lookAt = clock.monotonic();
    this.#history = new MoodHistory({ logs: storage.logs("", runsProjection), newId });
    const act = (happening: Happening) => this.#act(happening).felt ?? [];
    const onSet = () => {
      if (this.#closing === undefined) this.#note();
    };
    this.emotions = new LiveEmotions({ clock, act, onSet }, life.config, life.emotions);
    if (!isJoined) {
      const { startedAt: at, emotions: state } = life;
      this.#history.note({ at, kind: "up", state, events: [], downAt: this.report.before?.at });
    }
    const lifeNow = () => this.#life;
    this.notices = new RestartNotices(ports, this, lifeNow, options);
    const host = {
      document: this.#document.bind(this),
      happened: (done: Act) => this.#become(foldAgain(this.#life, done).life),
      stored: this.#stored.bind(this),
      follow: this.#follow.bind(this),
    };
    this.#writer = new DocumentWriter(ports, options, host, { revision, life });
    this.clients = new Clients(ports, this, lifeNow, this.#save.bind(this));
  }

  /** An instant of the wall clock by the clock that cannot be set; never one to come. */
  #monotonicAt(at: number): number {
    return this.#clock.monotonic() - Math.max(0, this.#clock.now() - at);
  }

  /** How it came up: the same at every server. */
  get report(): RestartReport {
    return this.#life.shared.report;
  }

  /** Of the run that the report is of. */
  get runId(): string {
    return this.#life.runId;
  }

  /** When that was: milliseconds since 1970. */
  get startedAt(): number {
    return this.#life.startedAt;
  }

  get uptimeMs(): number {
    return this.#clock.monotonic() - this.#upSince;
  }

  /** Who was seen last: kept until somebody else is. */
  get person(): PersonSeen | undefined {
    return this.#life.person;
  }

  get sleepState(): SleepState {
    return this.#life.sleep;
  }

  /**
   * One pass of the loop, which `startCompanion` runs: call it as often as you like beside that. Costs a
   * comparison when nothing is due, and never waits for what is to be written.
   */
  tick(): void {
    if (this.#closing !== undefined) return;
    const now = this.#clock.monotonic();
    if (now >= this.#lookAt) this.#look(now);
    if (now >= this.#writer.nextAt) void this.#writer.pass(now);
  }

  /** Tells watchers of feelings that moved enough, and falls asleep of boredom. */
  #look(now: number): void {
    this.#lookAt = now + lookEveryMs;
    const feeling = this.emotions.feeling();
    const { publishThreshold } = this.emotions.configuration.settings;
    if (this.#published === undefined || hasMoved(this.#published, feeling, publishThreshold)) {
      this.#published = feeling;
      this.#publish({ type: "emotions", feeling });
    }
    const isBored = feeling.boredom >= boredEnoughToSleep;
    this.#boredSince = isBored ? (this.#boredSince ?? now) : undefined;
    const { sleepAfterBoredMs } = this.#options;
    const isTired = this.#boredSince !== undefined && now - this.#boredSince >= sleepAfterBoredMs;
    if (sleepAfterBoredMs > 0 && isTired && this.sleepState === "awake") this.sleep("asleep");
  }

  /** Calls back at every change. @returns a function that ends it. */
  onChange(listener: (change: CompanionChange) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #publish(change: CompanionChange): void {
    for (const listener of this.#listeners) {
      try {
        listener(change);
      } catch (error) {
        // Neither the loop nor a turn is to end with a watcher.
        this.#ports.logger.error({ change: change.type, ...thrown(error) }, "a watcher failed");
      }
    }
  }

  /**
   * Somebody was seen: an act of a person. Call it as often as you like. The same person is announced
   * at most once in 30 s: only then `face_recognized` is felt, watchers are notified, and it is saved at
   * the next pass. In between only the time of the sighting changes.
   *
   * @throws ThroughlineError `THROUGHLINE_INVALID`: not a name, of at most 256 characters.
   */
  personSeen(name: string): PersonSeen {
    const clean = typeof name === "string" && name.length <= 256 ? cleanName(name) : undefined;
    if (clean === undefined) throw invalid("a person's name is text of 1 to 256 characters");
    this.#act({ kind: "seen", name: clean });
    return this.person ?? { name: clean, seenAt: this.#clock.now() };
  }

  /** A person said this in a chat: it moves the emotions, and wakes. */
  personSaid(chatId: string, text: string): void {
    this.#act({ kind: "said", chat: chatId, text });
    this.emotions.personSaid(text);
  }

  replied(chatId: string, text: string): void {
    this.#act({ kind: "replied", chat: chatId, text });
    this.emotions.eventIfKnown("conversation_reply");
  }

  /** @throws ThroughlineError `THROUGHLINE_INVALID`: that is no state. */
  sleep(state: SleepState): void {
    if (state !== "awake" && state !== "asleep") {
      throw invalid("the sleep states are: awake, asleep");
    }
    this.#act({ kind: "sleep", state });
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
    this.#show(notice);
  }

  #show(notice: ShownNotice): void {
    this.notices.show(notice);
    this.#publish({ type: "acknowledged", chatId: notice.chatId });
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
    return this.#save();
  }

  /** The same with something that has not happened if it cannot be stored. */
  async #save(happening?: Happening): Promise<void> {
    if (this.#closing !== undefined) {
      throw new ThroughlineError("this run has ended", { code: "THROUGHLINE_CLOSED" });
    }
    await this.#writer.save(happening && this.#newAct(happening));
  }

  readOn(): Promise<void> {
    return this.#writer.readOn();
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
    const before = this.#life.conversation.length;
    this.#act({ kind: "forgot", hash: hashOf(chatId) });
    const count = before - this.#life.conversation.length;
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
    if (servers === undefined) return this.#end(reason);
    try {
      await servers.alone(async () => {
        servers.retire();
        const { runId } = this;
        const isLast = await servers.isLast();
        // Another server may have begun a run that this one did not hear of.
        await this.readOn();
        if (isLast && this.runId === runId) await this.#end(reason);
        else await this.#writer.save();
      });
    } finally {
      servers.leave();
    }
  }

  async #end(reason: string): Promise<void> {
    const state = suspend(this.emotions.configuration, this.emotions.state);
    this.#history.note({ at: this.#clock.now(), kind: "down", state, events: [] });
    try {
      await this.#writer.save(undefined, true);
    } finally {
      const logs = this.#ports.storage.logs("", runsProjection);
      await recordEnd(logs, this.#clock, this.#life, reason);
    }
  }

  #newAct(happening: Happening): Act {
    const felt = Math.min(this.emotions.state.at, lastInstant);
    const reading = readClock(this.#clock);
    return { ...happening, id: this.#ports.newId(), felt, at: this.#clock.now(), reading };
  }

  /** Something happens here. @throws as `fold` does. */
  #act(happening: Happening): Folded {
    const before = this.#life;
    const act = this.#newAct(happening);
    const folded = fold(before, act);
    this.#become(folded.life);
    if (this.#closing !== undefined) return folded;
    const { felt } = folded;
    // Where servers share the companion, it is noted as it is stored: others may have come first.
    if (felt !== undefined && this.#servers === undefined) this.#note(felt);
    // A wound lasts, and a person matters: a crash is to lose neither.
    const isWounded = felt?.some(({ wound }) => wound === "added") === true;
    const isUrgent = isWounded || folded.life.shared.announced !== before.shared.announced;
    this.#writer.add(act, felt, isUrgent);
    if (felt !== undefined) this.#lookAt = this.#clock.monotonic();
    if (isUrgent && this.#servers !== undefined) this.tick();
    return folded;
  }

  /** Notes for the history of moods what is felt. Watchers hear of it at the next pass. */
  #note(events: readonly MoodEvent[] = [], state = this.emotions.state): void {
    this.#history.note({ at: this.#clock.now(), kind: "felt", state, events });
    this.#lookAt = this.#clock.monotonic();
  }

  /** Continues as acts made it, and tells watchers of what that changed. */
  #become(next: Life): void {
    const before = this.#life;
    this.#life = next;
    const { config, emotions, person, sleep, clients, shared } = next;
    if (emotions !== before.emotions || config !== before.config) {
      this.emotions.become(config, emotions);
    }
    if (shared.wokenAt !== before.shared.wokenAt) this.#boredSince = undefined;
    const announcedAt = person && own(shared.announced, person.name);
    const isAnnounced = person && announcedAt !== own(before.shared.announced, person.name);
    if (isAnnounced && announcedAt !== undefined) this.#publish({ type: "person", person });
    if (sleep !== before.sleep) this.#publish({ type: "sleep", state: sleep });
    if (clients !== before.clients) this.#publish({ type: "injects" });
  }

  /** After the document the history of moods up to it is stored. */
  async #stored(document: CompanionDocument, acts: readonly PendingAct[]): Promise<void> {
    this.#servers?.publish("changed");
    const { alive } = document.shared ?? this.#life.shared;
    this.#servers?.note(alive);
    // What was dropped is not to come back with the next document.
    this.#life = { ...this.#life, shared: { ...this.#life.shared, alive } };
    const felt = acts.flatMap((each) => (each.felt === undefined ? [] : [each.felt]));
    if (felt.length > 0) this.#note(felt.flat(), document.emotions);
    await this.#history.flush();
  }

  /** Another server wrote this: what was done here and is not in it comes on top. */
  #follow(document: CompanionDocument, acts: readonly PendingAct[]): readonly PendingAct[] {
    let life = lifeElsewhere(document, this.#life);
    if (life === undefined) return acts;
    if (life.runId !== this.runId) this.#upSince = this.#monotonicAt(life.startedAt);
    const followed: PendingAct[] = [];
    for (const pending of acts) {
      const folded: Folded = foldAgain(life, pending.act);
      followed.push({ ...pending, felt: folded.felt });
      life = folded.life;
    }
    this.#become(life);
    this.#lookAt = this.#clock.monotonic();
    return followed;
  }

  #document(isLast: boolean, number: number, act: Act | undefined): CompanionDocument {
    const life = act === undefined ? this.#life : foldAgain(this.#life, act).life;
    const { at: felt } = this.emotions.state;
    const reading = readClock(this.#clock);
    return {
      ...documentOf(life, { reading, felt, upMs: this.uptimeMs }),
      shutdownClean: isLast,
      shared: this.#servers?.signed(life.shared, number, this.#closing !== undefined),
    };
  }
}

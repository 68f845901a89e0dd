import { checkChatId } from "../core/chat/chat-log.ts";
import { hashOf } from "../core/chat/tombstones.ts";
import { invalid, unavailable } from "../core/errors.ts";
import { aFunction, anObject, aText, checkArgument } from "../core/options.ts";
import { beginRun, joinRun } from "./boot.ts";
import { Clients } from "./clients.ts";
import { findDocument, type PersonSeen, type SleepState } from "./companion-document.ts";
import { suspend } from "./emotion/acts.ts";
import type { Feeling } from "./emotion/feel.ts";
import { factsText, readFacts } from "./facts.ts";
import { forgetLeft } from "./forget-chat.ts";
import { type BegunLife, KeptLife } from "./kept-life.ts";
import type { CompanionChange } from "./life.ts";
import { hasMoved, type LiveEmotions } from "./live-emotions.ts";
import { type MoodCourse, moodCourse } from "./mood-history.ts";
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

export type { SleepState } from "./companion-document.ts";
export type { CompanionChange } from "./life.ts";

/** How often the feelings are looked at to notify watchers, and for sleep. */
const lookEveryMs = 1_000;
const boredEnoughToSleep = 0.8;

/**
 * One run of a companion, from boot to exit: it knows how the last one ended, how it feels and whom it
 * saw, and keeps all of that through whatever happens to the process.
 *
 * All that it is lies in one value, its life, which is its document (`KeptLife`). Where several servers have the
 * companion, it is one run for them all: each writes the document on top of what the others wrote.
 */
export class Companion implements AsyncDisposable {
  readonly emotions: LiveEmotions;
  /** The notice that each chat gets at its first turn after a restart. */
  readonly notices: RestartNotices;
  /** The runs of programs that are not this one, such as a robot's. */
  readonly clients: Clients;
  readonly #kept: KeptLife;
  #lookAt: number;
  #published: Feeling | undefined;
  #boredSince: number | undefined;
  /** When it was woken last, at the last look. */
  #wokenAt: number;
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
      return new Companion(ports, settings, { life, revision: found.revision });
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
      throw unavailable("another server has the companion, and what it stored cannot be read");
    }
    const companion = new Companion(ports, settings, { life, revision, isJoined, servers });
    // Before another server may start: it joins this run.
    if (!isJoined) await companion.save();
    servers.begin({
      changed: () => companion.#kept.changedElsewhere(),
      told: (notice) => companion.notices.show(notice as unknown as ShownNotice),
    });
    return companion;
  }

  private constructor(ports: CompanionPorts, options: CompanionSettings, begun: BegunLife) {
    const { clock } = ports;
    this.#lookAt = clock.monotonic();
    this.#wokenAt = begun.life.shared.wokenAt;
    this.#kept = new KeptLife(ports, options, begun, () => {
      this.#lookAt = clock.monotonic();
    });
    this.emotions = this.#kept.emotions;
    this.notices = new RestartNotices(this.#kept);
    this.clients = new Clients(this.#kept, this.notices, () => this.facts());
  }

  /** How it came up: the same at every server. */
  get report(): RestartReport {
    return this.#kept.life.shared.report;
  }

  /** Of the run that the report is of. */
  get runId(): string {
    return this.#kept.life.runId;
  }

  /** When that was: milliseconds since 1970. */
  get startedAt(): number {
    return this.#kept.life.startedAt;
  }

  get uptimeMs(): number {
    return this.#kept.uptimeMs;
  }

  /** Who was seen last: kept until somebody else is. */
  get person(): PersonSeen | undefined {
    return this.#kept.life.person;
  }

  get sleepState(): SleepState {
    return this.#kept.life.sleep;
  }

  /**
   * One pass of the loop, which `startCompanion` runs: call it as often as you like beside that. Costs a
   * comparison when nothing is due, and never waits for what is to be written.
   */
  tick(): void {
    if (this.#closing !== undefined) return;
    const now = this.#kept.ports.clock.monotonic();
    if (now >= this.#lookAt) this.#look(now);
    this.#kept.pass(now);
  }

  /** Tells watchers of feelings that moved enough, and falls asleep of boredom. */
  #look(now: number): void {
    this.#lookAt = now + lookEveryMs;
    const feeling = this.emotions.feeling();
    const { publishThreshold } = this.emotions.configuration.settings;
    if (this.#published === undefined || hasMoved(this.#published, feeling, publishThreshold)) {
      this.#published = feeling;
      this.#kept.publish({ type: "emotions", feeling });
    }
    const isBored = feeling.boredom >= boredEnoughToSleep;
    const { wokenAt } = this.#kept.life.shared;
    const since = wokenAt === this.#wokenAt ? this.#boredSince : undefined;
    this.#wokenAt = wokenAt;
    this.#boredSince = isBored ? (since ?? now) : undefined;
    const { sleepAfterBoredMs } = this.#kept.options;
    const isTired = this.#boredSince !== undefined && now - this.#boredSince >= sleepAfterBoredMs;
    if (sleepAfterBoredMs > 0 && isTired && this.sleepState === "awake") this.sleep("asleep");
  }

  /** Calls back at every change. @returns a function that ends it. */
  onChange(listener: (change: CompanionChange) => void): () => void {
    checkArgument(listener, "listener", aFunction);
    return this.#kept.onChange(listener);
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
    this.#kept.act({ kind: "seen", name: clean });
    return this.person as PersonSeen;
  }

  /** A person said this in a chat: it moves the emotions, and wakes. */
  personSaid(chatId: string, text: string): void {
    checkChatId(chatId);
    checkArgument(text, "text", aText);
    this.#kept.act({ kind: "said", chat: chatId, text });
    this.emotions.personSaid(text);
  }

  replied(chatId: string, text: string): void {
    checkChatId(chatId);
    checkArgument(text, "text", aText);
    this.#kept.act({ kind: "replied", chat: chatId, text });
    this.emotions.eventIfKnown("conversation_reply");
  }

  /** @throws ThroughlineError `THROUGHLINE_INVALID`: that is no state. */
  sleep(state: SleepState): void {
    if (state !== "awake" && state !== "asleep") {
      throw invalid("the sleep states are: awake, asleep");
    }
    this.#kept.act({ kind: "sleep", state });
  }

  /**
   * What the companion remembers, as a block for the stable part of a prompt: behind the persona, or in
   * the system prompt of a voice model. Read from the option `memory` each time.
   *
   * @returns "" when there is nothing to remember, or the memory cannot be read.
   */
  async facts(): Promise<string> {
    const { options, ports } = this.#kept;
    return factsText(await readFacts(options.memory, ports.logger));
  }

  /**
   * How the companion felt over a span of time.
   *
   * @param span milliseconds since 1970; 2 to 2,000 points.
   */
  async moodCourse(span: { from: number; to: number; points: number }): Promise<MoodCourse> {
    checkArgument(span, "span", anObject);
    const { configuration } = this.emotions;
    return moodCourse(configuration, await this.#kept.history.between(configuration, span), span);
  }

  /**
   * Stores the state now. Resolves once it is stored.
   *
   * @throws ThroughlineError the codes of `DocumentStore.write`; `THROUGHLINE_CLOSED`.
   */
  save(): Promise<void> {
    return this.#kept.save();
  }

  readOn(): Promise<void> {
    return this.#kept.readOn();
  }

  /**
   * Removes what is kept here of a chat, from the document and the copies before it. Resolves once their
   * bytes are gone; when it rejects, call it again. It may also be called when the run has ended.
   *
   * @returns how many messages that were.
   */
  async forget(chatId: string): Promise<number> {
    checkChatId(chatId);
    this.notices.forget(chatId);
    if (this.#kept.servers !== undefined && this.#closing === undefined) await this.readOn();
    if (this.#closing !== undefined) {
      await this.#closing.catch(() => undefined); // the caller of close() hears of it
      return forgetLeft(this.#kept.ports, chatId);
    }
    const before = this.#kept.life.conversation.length;
    this.#kept.act({ kind: "forgot", hash: hashOf(chatId) });
    const count = before - this.#kept.life.conversation.length;
    // What was said long ago may have left this process and not the disk.
    await this.#kept.saveAlone();
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
    const kept = this.#kept;
    const { servers } = kept;
    kept.close();
    if (servers === undefined) return this.#end(reason);
    try {
      await servers.alone(async () => {
        servers.retire();
        const { runId } = this;
        const isLast = await servers.isLast();
        // Another server may have begun a run that this one did not hear of.
        await this.readOn();
        if (isLast && this.runId === runId) await this.#end(reason);
        else await kept.saveLast(false);
      });
    } finally {
      servers.leave();
    }
  }

  async #end(reason: string): Promise<void> {
    const { history, life, ports } = this.#kept;
    const { clock, storage } = ports;
    const state = suspend(this.emotions.configuration, this.emotions.state);
    history.note({ at: clock.now(), kind: "down", state, events: [] });
    try {
      await this.#kept.saveLast(true);
    } finally {
      await recordEnd(storage.logs("", runsProjection), clock, life, reason);
    }
  }
}

import { isoTime } from "../core/clock.ts";
import { isThroughlineError, ThroughlineError } from "../core/errors.ts";
import type { JsonObject } from "../core/json.ts";
import type { DocumentStore } from "../core/storage/document-store.ts";
import { type Boot, boot, emotionsAtBoot, missedRestart } from "./boot.ts";
import type { BootClock } from "./boot-clock.ts";
import { type CompanionAct, readAct, type SleepState, toldAct } from "./companion-act.ts";
import type { CompanionDocument, ConversationMessage, PersonSeen } from "./companion-document.ts";
import { type CompanionChange, CompanionLife } from "./companion-life.ts";
import { ConversationCopy } from "./conversation-copy.ts";
import { DocumentKeeper } from "./document-keeper.ts";
import { builtInEmotions } from "./emotion/built-in-emotions.ts";
import { factsText, readFacts } from "./facts.ts";
import { forgetLeft, forgetRepaired } from "./forget-chat.ts";
import { ForgottenChats } from "./forgotten-chats.ts";
import { Handover } from "./handover.ts";
import { injectionsOf, KeptInjections } from "./kept-injections.ts";
import type { Felt, LiveEmotions } from "./live-emotions.ts";
import { type MoodCourse, moodCourse } from "./mood-course.ts";
import { MoodHistory } from "./mood-history.ts";
import {
  type CompanionOptions,
  type CompanionPorts,
  type ResolvedOptions,
  resolveOptions,
} from "./options.ts";
import { ownField } from "./own-fields.ts";
import { type Reception, Receptions } from "./receptions.ts";
import type { RestartReport } from "./restart.ts";
import { runsProjection } from "./runs.ts";
import { Seat, type Seated } from "./seat.ts";
import { followedRun, joinRun, sharedRun } from "./shared-run.ts";
import { type SnapshotParts, snapshot } from "./snapshot.ts";

export type { SleepState } from "./companion-act.ts";
export type { CompanionChange } from "./companion-life.ts";

/** What was done here this short a time ago may not be in what another process stored. */
const settledMs = 5_000;

/**
 * One run of a companion, from boot to exit: it knows how the last one ended, how it feels and whom it
 * saw, and keeps all of that through whatever happens to the process.
 *
 * Where several processes have the companion, it is one run for them all: see `Seat`. What happens in
 * one is done in each, and one of them writes.
 */
export class Companion implements AsyncDisposable {
  /** What each chat is told when it is first talked in after a restart. */
  readonly receptions: Receptions;
  readonly injections: Pick<KeptInjections, "load" | "save">;
  readonly #injections: KeptInjections;
  #boot: Boot;
  readonly #ports: CompanionPorts;
  readonly #clock: BootClock;
  readonly #documents: DocumentStore;
  readonly #options: ResolvedOptions;
  readonly #seat: Seat | undefined;
  readonly #keeper: DocumentKeeper;
  readonly #life: CompanionLife;
  readonly #forgotten: ForgottenChats;
  readonly #history: MoodHistory;
  readonly #handover: Handover;
  #conversation: ConversationCopy;
  #nextAt: number;
  #actedAt = Number.NEGATIVE_INFINITY;
  #closing: Promise<void> | undefined;

  /**
   * Begins a run. Its boot is on record before this resolves; what the run before left is taken over,
   * nothing of it is lost by beginning.
   *
   * @throws ThroughlineError `THROUGHLINE_NEWER_FORMAT`: a later version wrote the document; it was
   *   left as it is. `THROUGHLINE_CONFIGURATION`: no such time zone. Otherwise the codes of the
   *   storage: then no run has begun.
   * @throws TypeError an option is out of its bounds: the same.
   */
  static async start(ports: CompanionPorts, options: CompanionOptions = {}): Promise<Companion> {
    const resolved = resolveOptions(options);
    const { leases, cluster } = ports.storage;
    const seat = cluster.isShared ? new Seat({ ...ports, leases, cluster }) : undefined;
    try {
      const shared = await seat?.take();
      const begun = await (shared ? joinRun(ports, shared) : boot(ports, resolved));
      const companion = new Companion(ports, resolved, begun, seat);
      seat?.sit(companion.#seated(), shared === undefined);
      return companion;
    } catch (error) {
      await seat?.leave();
      throw error;
    }
  }

  private constructor(ports: CompanionPorts, options: ResolvedOptions, begun: Boot, seat?: Seat) {
    const { clock, logger, newId, storage } = ports;
    const { document, report } = begun;
    this.#ports = ports;
    this.#clock = clock;
    this.#boot = begun;
    this.#options = options;
    this.#seat = seat;
    this.#documents = storage.documents("session");
    this.#history = new MoodHistory({ logs: storage.logs("", runsProjection), newId });
    // Whoever keeps the companion has the copy: one is easier to forget in.
    this.#conversation = new ConversationCopy(begun.isJoined ? undefined : document);
    this.#forgotten = new ForgottenChats(clock);
    this.#injections = new KeptInjections(document, (request) => this.#store(request));
    this.injections = this.#injections;
    this.#handover = new Handover(ports, options.pid, begun.isJoined ? document : undefined);
    const config = this.#options.emotions ?? builtInEmotions;
    const { state, repaired } = emotionsAtBoot(config, begun, clock.now());
    if (repaired.length > 0) logger.warn({ repaired }, "stored emotions were repaired");
    this.#life = this.#newLife({ config, state, left: document });
    const up = { at: isoTime(this.startedAt), state, config };
    if (!begun.isJoined) this.#history.note(up, "up", report.before?.at);
    this.receptions = new Receptions(ports, this, this.#options, {
      stored: ownField(document, "deliveries"),
      ...{ report, missed: missedRestart(begun) },
    });
    this.#keeper = new DocumentKeeper(
      {
        ...{ clock, logger, documents: this.#documents },
        onConflict: seat && (() => seat.resign()),
        document: (isLast, before) => this.#document(isLast, before),
        afterSave: () => this.#saved(),
      },
      this.#options,
      begun.revision,
    );
    this.#nextAt = clock.monotonic();
  }

  get emotions(): LiveEmotions {
    return this.#life.emotions;
  }

  /** How it came up. Where several processes have it: the same for all, whoever keeps it. */
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
    return this.#life.person;
  }

  get sleepState(): SleepState {
    return this.#life.sleepState;
  }

  /**
   * One pass of the loop: call it as often as you like, 50 times a second or 5. Costs a comparison
   * when nothing is due, and never waits: what is to be written is written meanwhile.
   */
  tick(): void {
    const now = this.#clock.monotonic();
    if (now < this.#nextAt || this.#closing !== undefined) return;
    if (now >= this.#life.lookAt) this.#life.look(now);
    if (this.#isKept) this.#keeper.tick(now, () => this.#setNext());
    this.#setNext();
  }

  /** Whether this process writes what is kept. */
  get #isKept(): boolean {
    return this.#seat?.isKeeper ?? true;
  }

  #setNext(): void {
    const writeAt = this.#isKept ? this.#keeper.nextAt : Number.POSITIVE_INFINITY;
    this.#nextAt = Math.min(this.#life.lookAt, writeAt);
  }

  /** Calls back at every change. @returns a function that ends it. */
  onChange(listener: (change: CompanionChange) => void): () => void {
    return this.#life.onChange(listener);
  }

  /**
   * Somebody was seen: an act of a person. Call it as often as you like. The same person is announced
   * at most once in 30 s: only then `face_recognized` is felt, watchers are told, and it is saved at
   * the next pass. In between only the time of the sighting changes.
   *
   * @throws ThroughlineError `THROUGHLINE_INVALID`: not a name, of at most 256 characters.
   */
  personSeen(name: string): PersonSeen {
    return this.#life.see(name, this.#clock.now());
  }

  /** A person said this in a chat: it moves the emotions, and wakes. */
  personSaid(chatId: string, text: string): void {
    this.#life.act({ act: "said", chat: chatId, text, at: this.#clock.now() });
  }

  /** The companion's reply is stored. */
  replied(chatId: string, text: string): void {
    this.#life.act({ act: "replied", chat: chatId, text, at: this.#clock.now() });
  }

  wake(): void {
    this.sleep("awake");
  }

  sleep(state: SleepState): void {
    this.#life.sleep(state);
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

  /** For `Receptions`: a chat was told. */
  welcomed(chatId: string, reception?: Reception): void {
    this.#life.act({ act: "welcomed", chat: chatId, ...(reception && { reception }) });
  }

  /**
   * How the companion felt over a span of time.
   *
   * @param span milliseconds since 1970; 2 to 2,000 points.
   */
  async moodCourse(span: { from: number; to: number; points: number }): Promise<MoodCourse> {
    return moodCourse(await this.#history.between(this.emotions.configuration, span), span);
  }

  /**
   * Writes the state now. Resolves once it is stored.
   *
   * @throws ThroughlineError the codes of `DocumentStore.write`; `THROUGHLINE_CLOSED`.
   */
  save(): Promise<void> {
    return this.#store({ do: "save" });
  }

  /** Saves; where another process keeps the companion, that one does, with what is given to it. */
  async #store(request: JsonObject): Promise<void> {
    if (this.#closing !== undefined) {
      throw new ThroughlineError("this run has ended", { code: "THROUGHLINE_CLOSED" });
    }
    if (this.#seat === undefined || this.#isKept) await this.#keeper.save();
    else await this.#seat.ask(request);
  }

  /**
   * Drops what is kept here of a chat, from the document and the copies before it. Resolves once their
   * bytes are gone; when it rejects, call it again. It may also be called when the run has ended.
   *
   * @returns how many messages that were.
   */
  async forget(chatId: string): Promise<number> {
    this.receptions.forget(chatId);
    if (this.#closing !== undefined) {
      await this.#closing.catch(() => undefined); // whoever closed hears of it
      return forgetLeft(this.#ports, chatId);
    }
    if (this.#seat === undefined) return this.#forget(chatId);
    this.#seat.tell({ say: "forgot", chat: chatId });
    return this.#seat.ask({ do: "forget", chat: chatId });
  }

  async #forget(chatId: string): Promise<number> {
    if (this.#seat !== undefined) this.#forgotten.add(chatId);
    const count = this.#conversation.forget(chatId);
    // Whatever is known of the chat here, because what was said long ago may have left this process
    // and not the disk.
    await this.#keeper.saveAlone();
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
    this.#keeper.close();
    this.#nextAt = Number.POSITIVE_INFINITY;
    this.#seat?.retire();
    try {
      if (this.#isKept) await this.#end(reason);
    } finally {
      await this.#seat?.leave();
    }
  }

  async #end(reason: string): Promise<void> {
    try {
      await this.#keeper.save(true);
    } catch (error) {
      // Another process has it by now, and its state: this one's end is nothing.
      if (!this.#seat || !isThroughlineError(error, "THROUGHLINE_CONFLICT")) throw error;
    } finally {
      await this.#boot.runs.end(reason);
    }
  }

  #felt(felt: Felt): void {
    if (this.#closing !== undefined) return;
    if (this.#isKept) this.#history.note(felt);
    // Whoever watches hears of it at the next pass.
    this.#life.lookNow();
    // A wound lasts: a crash is not to heal it.
    this.#changed(felt.event?.wound === "added");
  }

  #changed(isUrgent: boolean): void {
    this.#keeper.changed();
    if (isUrgent) this.#keeper.saveSoon();
    this.#setNext();
  }

  /** The part of this process in a companion that several have. */
  #seated(): Seated {
    return {
      shared: () => sharedRun(this.#boot),
      perform: (told) => {
        const act = readAct(told);
        if (act === undefined || this.#closing !== undefined) return;
        this.#life.perform(act);
        const reception = act.act === "welcomed" ? act.reception : undefined;
        if (reception && !this.#forgotten.has(reception.chatId)) this.receptions.show(reception);
      },
      follow: (shared) => {
        this.#boot = followedRun(this.#boot, shared);
      },
      takeOver: () => this.#takeOver(),
      serve: (request) => this.#serve(request),
      reread: () => this.#reread(),
      missed: () => {
        this.#handover.missed();
        // Whoever keeps it is asked again for what it did not hear of forgetting.
        if (!this.#isKept) this.#conversation = new ConversationCopy(undefined);
        this.receptions.forgetTexts();
      },
      dropTexts: (chatId) => {
        this.#forgotten.add(chatId);
        this.receptions.forget(chatId);
      },
      saveSoon: () => this.#changed(true),
    };
  }

  async #takeOver(): Promise<void> {
    const { boot, news } = await this.#handover.take(this.#boot, this.#keeper.written);
    if (this.#closing !== undefined) return boot.runs.end();
    this.#boot = boot;
    if (news !== undefined) this.#adopt(news);
    this.#conversation = new ConversationCopy(boot.document);
    this.#injections.items = injectionsOf(boot.document);
    this.#history.drop();
    this.#history.note(this.emotions.felt, "up");
    this.#keeper.takeOver(boot.revision);
    await this.#keeper.save(); // so that whoever kept it before, and wakes, writes it no more
    this.#handover.done();
    this.#nextAt = this.#clock.monotonic();
    if (this.#closing !== undefined) await this.#end("closed"); // meanwhile
  }

  async #serve({ do: what, chat, items }: JsonObject): Promise<number> {
    if (what === "forget") return this.#forget(String(chat));
    if (what === "injections" && Array.isArray(items)) this.#injections.items = items;
    await this.#keeper.save();
    return 0;
  }

  /** Goes on from what whoever keeps the companion stored, unless something of here is not in it yet. */
  #reread(): Promise<void> {
    return this.#handover.follow((document) => {
      const isSettled = this.#clock.monotonic() - this.#actedAt >= settledMs;
      if (!isSettled || this.#isKept || this.#closing !== undefined) return false;
      this.#adopt(document);
      return true;
    });
  }

  /** Goes on from what another process stored. */
  #adopt(document: CompanionDocument): void {
    const read = { ...this.#boot, document, isJoined: true } as const;
    const { state } = emotionsAtBoot(this.emotions.configuration, read, this.#clock.now());
    this.#life.adopt({ ...document, state });
    this.#setNext();
  }

  /** After the document the history of moods up to it is stored. */
  async #saved(): Promise<void> {
    await this.#history.flush();
    this.#seat?.tell({ say: "saved" });
  }

  #newLife(from: ConstructorParameters<typeof CompanionLife>[2]): CompanionLife {
    const ports = {
      ...{ clock: this.#clock, newId: this.#ports.newId, logger: this.#ports.logger },
      onFelt: (felt: Felt) => this.#felt(felt),
      onAct: (act: CompanionAct) => {
        this.#actedAt = this.#clock.monotonic();
        this.#seat?.tell({ say: "act", act: toldAct(act) });
      },
      onSaid: (chatId: string, message: ConversationMessage) => {
        if (!this.#isKept || this.#forgotten.has(chatId)) return;
        this.#conversation.add(chatId, message);
      },
      changed: (isUrgent: boolean) => this.#changed(isUrgent),
    };
    return new CompanionLife(ports, this.#options, from);
  }

  #document(isLast: boolean, last?: JsonObject): JsonObject {
    if (isLast) {
      this.emotions.suspend();
      this.#history.note(this.emotions.felt, "down");
    }
    const { document: left, run } = this.#boot;
    const parts: SnapshotParts = {
      ...{ left, run, clock: this.#clock, uptimeMs: this.uptimeMs, shutdownClean: isLast },
      ...{ sleepState: this.sleepState, person: this.person },
      ...{ conversation: this.#conversation, injections: this.#injections.items },
      deliveries: this.receptions.toJson(),
    };
    return snapshot(parts, last === undefined ? this.emotions.stored() : { last });
  }
}

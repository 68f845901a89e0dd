import { chatZone } from "../core/chat/chat-metadata.ts";
import type { StoredMessage } from "../core/chat/message.ts";
import { hashOf } from "../core/chat/tombstones.ts";
import { isoTime } from "../core/clock.ts";
import { errorName } from "../core/errors.ts";
import type { JsonObject } from "../core/json.ts";
import { Lru } from "../core/lru.ts";
import { readClock } from "./boot-clock.ts";
import type { PersonSeen } from "./companion-document.ts";
import { Deliveries } from "./deliveries.ts";
import { type Gap, gapBetween } from "./gap.ts";
import type { LiveEmotions } from "./live-emotions.ts";
import type { CompanionOptions, CompanionPorts } from "./options.ts";
import type { SaidMessage } from "./quoted-lines.ts";
import { type JudgedRestart, judgedAgain, type RestartKind } from "./restart.ts";
import { type WelcomeFacts, welcomeKind, welcomeText } from "./welcome.ts";

/** What a chat is told when it is first talked in after a restart. */
export interface Welcome {
  readonly kind: RestartKind;
  /**
   * Goes after the cached prefix, as it is: it has its own marks. Never stored as a message. "": there
   * is nothing to say, which is told by saying nothing.
   */
  readonly text: string;
  /**
   * The run that the chat knows of once it was told: goes into the head of its log. `undefined`: what
   * happened could not be told, and is still to be.
   */
  readonly session: number | undefined;
}

/** One delivery as people may look at it. */
export interface Reception {
  readonly chatId: string;
  readonly kind: RestartKind;
  readonly status: "pending" | "delivered";
  readonly text: string;
  /** ISO 8601; absent while it is pending. */
  readonly at?: string;
}

/** What receptions need to know of the companion. */
export interface Host {
  readonly emotions: LiveEmotions;
  readonly person: PersonSeen | undefined;
  /** Of this run. */
  readonly uptimeMs: number;
  welcomed(chatId: string, session: number | undefined, reception: Reception): void;
}

/** Delivered texts that are kept to be looked at, in this process only. */
const maxShown = 50;
/** Messages that a welcome is made of: a long absence tells topics of them all. */
const messagesTold = 50;
/** Records that are read for what was said last: of them, control records and hidden rows go. */
const recordsRead = 200;

/**
 * Receives people after a restart: every chat is told once, at its first turn, what happened and how
 * the companion feels, and it is known in the chat's own log that it was.
 */
export class Receptions {
  readonly #ports: CompanionPorts;
  readonly #host: Host;
  readonly #options: CompanionOptions;
  readonly #deliveries: Deliveries;
  readonly #report: JudgedRestart;
  /** Attempts under way, except where the chat removed words since: the attempt may quote them. */
  readonly #begun = new Map<string, Welcome | undefined>();
  /** Chats that began in this run and were not answered yet: nothing happened to them. */
  readonly #born = new Set<string>();
  /** Newest last. */
  readonly #shown = new Lru<string, Reception>(maxShown);

  constructor(
    ports: CompanionPorts,
    host: Host,
    options: CompanionOptions,
    left: {
      readonly stored: unknown;
      readonly report: JudgedRestart;
      readonly missed?: JudgedRestart | undefined;
    },
  ) {
    this.#ports = ports;
    this.#host = host;
    this.#options = options;
    this.#report = left.report;
    this.#deliveries = Deliveries.begin(left.stored, left.report, left.missed);
  }

  /**
   * Begins to tell a chat. End it with `delivered`, once the answer that was made with it is stored,
   * or with `failed`; one that the process does not survive was none.
   *
   * @param told the run that the chat was told of last, by its own log.
   * @param before the number of the message that is being answered: what was said before it counts.
   * @returns `undefined`: it was told, or another attempt is under way.
   */
  async begin(
    chatId: string,
    told: number | undefined,
    before: number,
  ): Promise<Welcome | undefined> {
    if (told !== undefined) this.#deliveries.noteTold(chatId, told);
    const restart = this.#deliveries.take(chatId);
    if (restart === undefined) return undefined;
    this.#begun.set(chatId, undefined);
    try {
      const welcome = await this.#welcome(chatId, restart, before);
      if (this.#begun.has(chatId)) this.#begun.set(chatId, welcome);
      return welcome;
    } catch (error) {
      // No turn fails with what it would have been told beside.
      this.#ports.logger.error({ chat: chatId, error: errorName(error) }, "a welcome was left out");
      this.failed(chatId);
      return undefined;
    }
  }

  /** The answer is stored: the chat was told. */
  delivered(chatId: string, welcome: Welcome): void {
    const { kind, text, session } = welcome;
    const isKnown = this.#begun.get(chatId) === welcome;
    this.#begun.delete(chatId);
    this.#born.delete(chatId);
    // If words were removed since it began, the chat's own log knows whether it was told.
    if (!isKnown) return;
    if (session === undefined) this.#deliveries.release(chatId);
    else this.#deliveries.acknowledge(chatId);
    if (text === "") return;
    const at = isoTime(this.#ports.clock.now());
    const reception: Reception = { chatId, kind, status: "delivered", text, at };
    this.show(reception);
    this.#host.welcomed(chatId, session, reception);
  }

  /** Keeps a delivered text to be looked at; another process may have delivered it. */
  show(reception: Reception): void {
    this.#shown.set(reception.chatId, reception);
  }

  /** Another process told a chat. */
  toldElsewhere(chatId: string, session: number | undefined, notice: Reception | undefined): void {
    if (session !== undefined) this.#deliveries.noteTold(chatId, session);
    if (notice !== undefined) this.show(notice);
  }

  /** The same as `forget` for a chat of which only the hash of its id is known. */
  forgetHash(hash: string): void {
    const known = [this.#begun, this.#shown].flatMap((each) => [...each.keys()]);
    for (const chatId of new Set([...known, ...this.#born, ...this.#deliveries.chats])) {
      if (hashOf(chatId) === hash) this.forget(chatId);
    }
  }

  /** The attempt produced no answer: the chat is still to be told. */
  failed(chatId: string): void {
    this.#begun.delete(chatId);
    this.#deliveries.release(chatId);
  }

  /** Drops what is known of a chat, and texts that quote it. */
  forget(chatId: string): void {
    this.#begun.delete(chatId);
    this.#born.delete(chatId);
    this.#shown.delete(chatId);
    this.#deliveries.forget(chatId);
  }

  /**
   * What was told in this run, and what these chats would be told now, newest first.
   *
   * @param chatIds chats to look at, such as those in which a person acted last.
   */
  async look(chatIds: readonly string[]): Promise<readonly Reception[]> {
    const pending: Reception[] = [];
    for (const chatId of chatIds) {
      if (this.#shown.has(chatId)) continue;
      const { head } = await this.#ports.chats.log.state(chatId);
      if (head?.told_session !== undefined) this.#deliveries.noteTold(chatId, head.told_session);
      const restart = this.#deliveries.pending(chatId);
      if (restart === undefined) continue;
      const { kind, text } = await this.#welcome(chatId, restart, Number.MAX_SAFE_INTEGER);
      if (text !== "") pending.push({ chatId, kind, status: "pending", text });
    }
    return [...[...this.#shown.values()].reverse(), ...pending];
  }

  toJson(): JsonObject {
    return this.#deliveries.toJson();
  }

  async #welcome(chatId: string, restart: JudgedRestart, before: number): Promise<Welcome> {
    const { isTold, ...facts } = await this.#facts(chatId, restart, before);
    const text = welcomeText(facts, this.#ports.newId);
    const { totalSessions } = this.#report;
    return { kind: welcomeKind(facts), text, session: isTold ? totalSessions : undefined };
  }

  /** What the welcome says. A chat that cannot be read is told nothing, and is still to be told. */
  async #facts(
    chatId: string,
    restart: JudgedRestart,
    before: number,
  ): Promise<WelcomeFacts & { readonly isTold: boolean }> {
    const { clock, logger } = this.#ports;
    const now = readClock(clock);
    const { kind, gap } = judgedAgain(restart, now, this.#host.uptimeMs);
    const { clean, totalSessions } = restart;
    const facts = { kind, gap, clean, totalSessions, isTold: true };
    try {
      const { head } = await this.#ports.chats.log.state(chatId);
      const said = head === undefined ? [] : await this.#said(chatId, before);
      // A chat in which nothing was said has nothing to go on from.
      if (said.length === 0) this.#born.add(chatId);
      if (this.#born.has(chatId)) return { ...facts, kind: "fresh_start" };
      const last = Date.parse(said.at(-1)?.timestamp ?? "");
      const silence: Gap = gapBetween(Number.isFinite(last) ? { at: last } : undefined, now);
      const timeZone = (head && chatZone(head)) ?? this.#options.timeZone;
      return {
        ...facts,
        messages: said.map(({ role, content }): SaidMessage => ({ role, text: content })),
        silence,
        ...this.#feelings(now.at ?? clock.now()),
        ...(timeZone === undefined ? {} : { local: { at: clock.now(), timeZone } }),
      };
    } catch (error) {
      logger.warn({ chat: chatId, error: errorName(error) }, "a welcome was left out");
      return { ...facts, kind: "fresh_start", isTold: false };
    }
  }

  #feelings(now: number): Pick<WelcomeFacts, "mood" | "wounds" | "person"> {
    const { emotions, person } = this.#host;
    const { wounds } = emotions.feeling();
    const seenAt = person?.seenAt;
    const seenAgo = seenAt === undefined ? undefined : gapBetween({ at: seenAt }, { at: now });
    return {
      mood: emotions.tone,
      wounds: wounds.map(({ event, healing }) => ({ event, healing })),
      ...(person && { person: { name: person.name, ...(seenAgo && { seenAgo }) } }),
    };
  }

  /** What was said in this chat and in no other: oldest first, as people see it. */
  async #said(chatId: string, before: number): Promise<readonly StoredMessage[]> {
    const { chats } = this.#ports;
    const { messages } = await chats.messages(chatId, { limit: recordsRead, before });
    const isSaid = ({ role, content, ...marks }: StoredMessage) => {
      const isShown = !marks.hidden && !marks.redacted && marks.synthetic === undefined;
      return (role === "user" || role === "assistant") && isShown && content !== "";
    };
    return messages.filter(isSaid).slice(-messagesTold);
  }
}

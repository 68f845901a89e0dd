import { chatZone } from "../core/chat/chat-head.ts";
import type { StoredMessage } from "../core/chat/message.ts";
import { instantOf } from "../core/chat/stamp.ts";
import { isoTime } from "../core/clock.ts";
import { errorName, unavailable } from "../core/errors.ts";
import { Lru } from "../core/lru.ts";
import { gapBetween, readClock } from "./gap.ts";
import type { KeptLife } from "./kept-life.ts";
import { type JudgedRestart, judgedAgain, type RestartKind, untold } from "./restart.ts";
import { type NoticeFacts, noticeText } from "./restart-notice-text.ts";
import { restartsIn, runsProjection } from "./runs.ts";

/** What the model reads at the first turn of a chat after a restart. */
export interface RestartNotice {
  readonly kind: RestartKind;
  /**
   * Goes after the cached prefix, as it is: it has its own marks. Never stored as a message. "": there
   * is nothing to say, and that counts as said.
   */
  readonly text: string;
  /**
   * The run that the chat acknowledges with it, in the head of its log. `undefined`: the chat could not
   * be read, and is still to acknowledge.
   */
  readonly run: number | undefined;
  /** How often words had been removed when it was made. */
  readonly removals: number;
}

/** A notice as people may look at it. */
export interface ShownNotice {
  readonly chatId: string;
  readonly kind: RestartKind;
  readonly status: "pending" | "delivered";
  readonly text: string;
  /** ISO 8601; absent while it is pending. */
  readonly at?: string;
}

/** Delivered texts that are kept to be looked at, in this process only. */
const maxShown = 50;
/** Messages that a notice is made of: after a long absence it names topics of them all. */
const messagesQuoted = 50;
/** Records that are read for what was said last: of them, control records and hidden rows go. */
const recordsRead = 200;

/**
 * The notices after a restart: every chat gets one, at its first turn, of what happened and how
 * the companion feels. The chat's own log records that it was acknowledged.
 */
export class RestartNotices {
  readonly #kept: KeptLife;
  /** Chats that began in this run and were not answered yet: nothing happened to them. */
  readonly #born = new Set<string>();
  /** How often chats removed words: a text that was made before may quote them. */
  readonly #removals = new Map<string, number>();
  readonly #shown = new Lru<string, ShownNotice>(maxShown);

  constructor(kept: KeptLife) {
    this.#kept = kept;
  }

  /**
   * Begins the notice of a chat. End it with `delivered`, once the answer that was made with it is stored; else it is
   * still pending.
   *
   * @param acknowledged the newest run that the chat acknowledged, by its own log.
   * @param before the number of the message that is being answered: what was said before it counts.
   * @returns `undefined`: it was acknowledged.
   */
  async begin(
    chatId: string,
    acknowledged: number | undefined,
    before: number,
  ): Promise<RestartNotice | undefined> {
    const restart = await this.untold(acknowledged).catch((error) => this.#leaveOut(error));
    const notice = restart && (await this.#notice(chatId, restart, before));
    if (notice?.kind === "fresh_start" && notice.run !== undefined) this.#born.add(chatId);
    return notice;
  }

  /**
   * The notice that `begin` would return for the next message of a chat, but for its random mark. It
   * changes nothing.
   */
  async preview(chatId: string): Promise<RestartNotice | undefined> {
    try {
      const { head } = await this.#kept.ports.chats.state(chatId);
      const restart = await this.untold(head?.told_session);
      return restart && (await this.#notice(chatId, restart, Number.MAX_SAFE_INTEGER));
    } catch (error) {
      return this.#leaveOut(error);
    }
  }

  /**
   * Finds what a chat was not told of; `undefined`: it was told of everything. Rejects if that cannot be read.
   *
   * @param told the newest run of which it was, by its own log. Without it: what the text of this run itself has to tell.
   */
  async untold(told?: number): Promise<JudgedRestart | undefined> {
    const { life, ports } = this.#kept;
    const { told: toldAll = told } = life;
    const { report } = life.shared;
    const last = toldAll === undefined ? undefined : Math.max(toldAll, told ?? 0);
    if (last === undefined || last >= report.totalRuns) return untold([report], last);
    const all = await restartsIn(ports.storage.logs("", runsProjection));
    return untold([...all.filter((each) => each.totalRuns < report.totalRuns), report], last);
  }

  /** Passes over what cannot be read now: it is told later, and no turn fails because of it. */
  #leaveOut(error: unknown): undefined {
    const says = "a restart notice was left out";
    this.#kept.ports.logger.warn({ error: errorName(error) }, says);
  }

  /** The answer is stored: the chat acknowledged the notice. */
  delivered(chatId: string, notice: RestartNotice): void {
    this.#born.delete(chatId);
    this.#acknowledge(chatId, notice);
  }

  /** The application told a model of its own what these chats were to be told. */
  async passedOn(chatIds: readonly string[]): Promise<void> {
    for (const chatId of chatIds) {
      const notice = await this.preview(chatId);
      if (notice?.run === undefined) continue;
      const told = { told_session: notice.run };
      await this.#kept.ports.chats.changeExisting(chatId, (transaction) => {
        transaction.control("metadata", told);
        transaction.set(told);
      });
      this.#acknowledge(chatId, notice);
    }
  }

  /**
   * One text of a restart, for a model that goes on in all of these chats.
   *
   * @throws ThroughlineError `THROUGHLINE_UNAVAILABLE`: none of the chats can be read now.
   */
  async textOf(
    restart: JudgedRestart,
    chatIds: readonly string[],
    upMs: number,
  ): Promise<Pick<RestartNotice, "kind" | "text">> {
    const facts = await this.#facts(chatIds, restart, Number.MAX_SAFE_INTEGER, upMs);
    if (facts === undefined) {
      throw unavailable("the chats that the restart is about cannot be read now: try again");
    }
    return noticeText(facts, this.#kept.ports.newId);
  }

  #acknowledge(chatId: string, { kind, text, removals }: RestartNotice): void {
    // It may quote words that were removed since it was made: then it is not shown.
    if (text === "" || removals !== this.#removed(chatId)) return;
    const at = isoTime(this.#kept.ports.clock.now());
    const notice = { chatId, kind, status: "delivered", text, at } as const;
    this.#kept.servers?.publish("told", { notice });
    this.show(notice);
  }

  /** Keeps a delivered text to be looked at; another server may have delivered it. */
  show(notice: ShownNotice): void {
    this.#shown.set(notice.chatId, notice);
    this.#kept.publish({ type: "acknowledged", chatId: notice.chatId });
  }

  #removed = (chatId: string) => this.#removals.get(chatId) ?? 0;

  forget(chatId: string): void {
    this.#removals.set(chatId, this.#removed(chatId) + 1);
    this.#born.delete(chatId);
    this.#shown.delete(chatId);
  }

  /**
   * The notices of this run that were delivered, and those that these chats would get now, newest first.
   *
   * @param chatIds chats to look at, such as those in which a person acted last.
   */
  async look(chatIds: readonly string[]): Promise<readonly ShownNotice[]> {
    const shown = [...this.#shown.values()].reverse();
    for (const chatId of chatIds) {
      const notice = this.#shown.has(chatId) ? undefined : await this.preview(chatId);
      const { kind, text = "" } = notice ?? {};
      if (kind && text !== "") shown.push({ chatId, kind, status: "pending", text });
    }
    return shown;
  }

  async #notice(chatId: string, restart: JudgedRestart, before: number): Promise<RestartNotice> {
    const removals = this.#removed(chatId);
    const found = await this.#facts([chatId], restart, before, this.#kept.uptimeMs);
    if (found === undefined) return { kind: "fresh_start", text: "", run: undefined, removals };
    // A chat in which nothing was said has nothing to go on from.
    const isBorn = !found.messages?.length || this.#born.has(chatId);
    const facts: NoticeFacts = isBorn ? { ...found, kind: "fresh_start" } : found;
    return { ...noticeText(facts, this.#kept.ports.newId), run: restart.totalRuns, removals };
  }

  /** Gathers what the notice says, without chats that cannot be read. `undefined`: none of them can. */
  async #facts(
    chatIds: readonly string[],
    restart: JudgedRestart,
    before: number,
    upMs: number,
  ): Promise<NoticeFacts | undefined> {
    const { emotions, options, ports } = this.#kept;
    const { chats, clock, logger } = ports;
    const now = readClock(clock);
    const { clean, totalRuns } = restart;
    let { timeZone } = options;
    const all: StoredMessage[] = [];
    let unread = 0;
    for (const chatId of chatIds) {
      try {
        const { head } = await chats.state(chatId);
        if (head === undefined) continue;
        const { messages } = await chats.messages(chatId, { limit: recordsRead, before });
        timeZone = chatZone(head) ?? timeZone;
        all.push(...messages.filter(isSaid).slice(-messagesQuoted));
      } catch (error) {
        unread++;
        logger.warn(
          { chat: chatId, error: errorName(error) },
          "a restart notice is without a chat",
        );
      }
    }
    if (unread > 0 && unread === chatIds.length) return undefined;
    if (chatIds.length > 1) all.sort((a, b) => a.timestamp.localeCompare(b.timestamp));
    const said = all.slice(-messagesQuoted);
    const { person } = this.#kept.life;
    const agoOf = (at: number | undefined) => gapBetween({ at }, now);
    return {
      ...judgedAgain(restart, now, upMs),
      clean,
      totalRuns,
      messages: said.map(({ role, content: text }) => {
        return { role: role === "user" ? "USER" : "ASSISTANT", text };
      }),
      silence: agoOf(instantOf(said.at(-1)?.timestamp)),
      mood: emotions.tone,
      wounds: emotions.feeling().wounds,
      person: person && { name: person.name, seenAgo: agoOf(person.seenAt) },
      local: timeZone === undefined ? undefined : { at: clock.now(), timeZone },
    };
  }
}

/** Whether people see it as words of the person or the companion. */
function isSaid({ role, content, hidden, synthetic }: StoredMessage): boolean {
  const isShown = !hidden && synthetic === undefined;
  return (role === "user" || role === "assistant") && isShown && content.trim() !== "";
}

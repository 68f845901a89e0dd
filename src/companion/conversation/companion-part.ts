import type { Chats } from "../../core/chat/chats.ts";
import type { StoredMessage } from "../../core/chat/message.ts";
import type { AskPorts } from "../../core/turns/ask.ts";
import type { Begun } from "../../core/turns/turn-records.ts";
import type { Companion } from "../companion.ts";
import { moodText } from "../mood-text.ts";
import type { Welcome } from "../receptions.ts";

/** How many models think for each companion: the mood shows it as long as one does. */
const thinking = new WeakMap<Companion, number>();

/**
 * The companion's part in one turn: what it lets the model know, and what the turn does to it. Without
 * a companion it does nothing.
 */
export class CompanionPart {
  readonly #companion: Companion | undefined;
  readonly #chatId: string;
  readonly #facts: string;
  readonly #welcome: Welcome | undefined;

  private constructor(
    companion: Companion | undefined,
    chatId: string,
    { facts = "", welcome }: { facts?: string; welcome?: Welcome | undefined } = {},
  ) {
    this.#companion = companion;
    this.#chatId = chatId;
    this.#facts = facts;
    this.#welcome = welcome;
  }

  static async begin(
    companion: Companion | undefined,
    chats: Chats,
    begun: Begun,
    { chatId }: { readonly chatId: string },
  ): Promise<CompanionPart> {
    if (companion === undefined) return new CompanionPart(undefined, chatId);
    const { head } = await chats.log.existing(chatId);
    const { receptions } = companion;
    const welcome = await receptions.begin(chatId, head.told_session, begun.user.seq);
    return new CompanionPart(companion, chatId, { facts: await companion.facts(), welcome });
  }

  /** What the model is told. */
  get said(): Pick<AskPorts, "facts" | "mood" | "welcome"> {
    if (this.#companion === undefined) return {};
    const { emotions, sleepState } = this.#companion;
    const mood = moodText(emotions.spoken, sleepState);
    return { facts: this.#facts, mood, welcome: this.#welcome?.text };
  }

  /** For the append that stores the answer. */
  get told(): { readonly toldSession?: number } {
    const session = this.#welcome?.session;
    return session === undefined ? {} : { toldSession: session };
  }

  /** While this runs the companion is thinking. */
  async during<T>(work: () => Promise<T>): Promise<T> {
    const companion = this.#companion;
    if (companion === undefined) return work();
    thinking.set(companion, (thinking.get(companion) ?? 0) + 1);
    if (thinking.get(companion) === 1) companion.emotions.voice("thinking");
    try {
      return await work();
    } catch (error) {
      companion.receptions.failed(this.#chatId);
      throw error;
    } finally {
      const left = (thinking.get(companion) ?? 1) - 1;
      thinking.set(companion, left);
      const { voiceState } = companion.emotions.feeling();
      if (left === 0 && voiceState === "thinking") companion.emotions.voice("idle");
    }
  }

  /** @param assistant the answer as it was stored, if a word came. */
  end(assistant: StoredMessage | undefined): void {
    if (this.#companion === undefined) return;
    const { receptions } = this.#companion;
    // The late answer of a session that has ended changes nothing in the one that goes on; nor does
    // one without a word.
    if (assistant === undefined || assistant.hidden || assistant.content === "") {
      receptions.failed(this.#chatId);
      return;
    }
    if (this.#welcome !== undefined) receptions.delivered(this.#chatId, this.#welcome);
    this.#companion.replied(this.#chatId, assistant.content);
  }
}

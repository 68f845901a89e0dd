import type { Clock } from "../core/clock.ts";

/** What other processes still tell of a forgotten chat comes within this time, in milliseconds. */
const lateMs = 10_000;

/** Chats that were forgotten a moment ago: what is told of them since is late, and not to be kept. */
export class ForgottenChats {
  readonly #clock: Clock;
  readonly #at = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add(chatId: string): void {
    const now = this.#clock.monotonic();
    for (const [chat, at] of this.#at) if (now - at >= lateMs) this.#at.delete(chat);
    this.#at.set(chatId, now);
  }

  has(chatId: string): boolean {
    const at = this.#at.get(chatId);
    return at !== undefined && this.#clock.monotonic() - at < lateMs;
  }
}

/** A text on its way to the voice model. */
export interface QueuedText {
  readonly id: string;
  readonly text: string;
  readonly mustDeliver: boolean;
  /** When it was decided on: on the monotonic clock of this run, and as it is stored. */
  readonly sinceMs: number;
  readonly queuedAt: string;
  /** How often the model refused it, in this voice stream. */
  readonly rejections: number;
}

/**
 * Bounds of what waits. Characters are UTF-16 code units, as `length` counts them.
 *
 * Source: 16 items or 8,000 characters are the injector's rule. A notice may be larger than the
 * queue (6,000 characters of conversation, 4,000 of memory and their frames): one text that must be
 * delivered may be, where no other such text is on its way.
 */
export const queueLimits = {
  items: 16,
  characters: 8_000,
  loneCharacters: 16_000,
  /** Refused this often, an ordinary text is dropped; another waits for the next voice stream. */
  rejections: 3,
} as const;

export type DropReason = "empty" | "too_large" | "queue_full" | "rejected" | "closed";

export interface DroppedText {
  readonly item: QueuedText;
  readonly reason: DropReason;
}

/**
 * What waits for the model and what is on its way to it, in the order of arrival. When a bound is
 * passed, the oldest ordinary text goes first, be it the one that just came. A text that must be
 * delivered is either refused when it comes, because others like it fill the queue, or stays until
 * it is removed.
 */
export class InjectionQueue {
  /** Waiting or on their way; never put into another order. */
  #items: readonly QueuedText[] = [];
  #sending: ReadonlySet<string> = new Set();

  get waiting(): readonly QueuedText[] {
    return this.#items.filter(({ id }) => !this.#sending.has(id));
  }

  /** Those that must be delivered, waiting or on their way. */
  get mustDeliver(): readonly QueuedText[] {
    return this.#items.filter((item) => item.mustDeliver);
  }

  /** Whether anything that waits may be sent in this voice stream. */
  get isReady(): boolean {
    return this.waiting.some(isReady);
  }

  find(id: string): QueuedText | undefined {
    return this.#items.find((item) => item.id === id);
  }

  isSending(id: string): boolean {
    return this.#sending.has(id);
  }

  /** Why it cannot be taken in, whatever else would go. */
  refusal(item: QueuedText): DropReason | undefined {
    const { text, mustDeliver } = item;
    if (text.trim() === "") return "empty";
    const most = mustDeliver ? queueLimits.loneCharacters : queueLimits.characters;
    if (text.length > most) return "too_large";
    if (!mustDeliver) return undefined;
    // Those on their way count: they may have to wait again.
    const others = this.mustDeliver.filter(({ id }) => id !== item.id);
    return others.length > 0 && isOver([...others, item]) ? "queue_full" : undefined;
  }

  /**
   * Takes in one that is not refused, or puts it where one with its id stands.
   *
   * @returns what had to go for it, or itself.
   */
  put(item: QueuedText): readonly DroppedText[] {
    const index = this.#items.findIndex(({ id }) => id === item.id);
    this.#items = index === -1 ? [...this.#items, item] : this.#items.with(index, item);
    return this.#makeRoom();
  }

  /**
   * Moves what goes into the next injection from waiting to on its way: everything that may be sent,
   * or the oldest alone when it was refused before, so that one bad text does not hold up others.
   */
  take(): readonly QueuedText[] {
    const ready = this.waiting.filter(isReady);
    const isRefused = (ready[0]?.rejections ?? 0) > 0;
    const taken = isRefused ? ready.slice(0, 1) : ready;
    this.#sending = new Set(taken.map(({ id }) => id));
    return taken;
  }

  /** What was on its way waits again. @returns what had to go. */
  putBack(how: { readonly isRejected: boolean }): readonly DroppedText[] {
    const sent = this.#sending;
    this.#sending = new Set();
    if (how.isRejected) {
      this.#items = this.#items.map((item) =>
        sent.has(item.id) ? { ...item, rejections: item.rejections + 1 } : item,
      );
    }
    const hopeless = this.#items.filter((item) => !item.mustDeliver && !isReady(item));
    this.#items = this.#items.filter((item) => !hopeless.includes(item));
    const dropped = hopeless.map((item) => ({ item, reason: "rejected" }) as const);
    return [...dropped, ...this.#makeRoom()];
  }

  /** Another voice stream: what the last one refused may be sent. */
  forgiveRejections(): void {
    this.#items = this.#items.map((item) => ({ ...item, rejections: 0 }));
  }

  remove(id: string): void {
    this.#items = this.#items.filter((item) => item.id !== id);
  }

  #makeRoom(): readonly DroppedText[] {
    const dropped: DroppedText[] = [];
    while (isOver(this.waiting)) {
      const item = this.waiting.find(({ mustDeliver }) => !mustDeliver);
      if (item === undefined) break; // one that must be delivered, alone, larger than the queue
      this.remove(item.id);
      dropped.push({ item, reason: "queue_full" });
    }
    return dropped;
  }
}

function isReady(item: QueuedText): boolean {
  return item.rejections < queueLimits.rejections;
}

function isOver(items: readonly QueuedText[]): boolean {
  return items.length > queueLimits.items || charactersOf(items) > queueLimits.characters;
}

export function charactersOf(items: readonly QueuedText[]): number {
  return items.reduce((sum, { text }) => sum + text.length, 0);
}

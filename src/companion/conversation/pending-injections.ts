import { errorName } from "../../core/errors.ts";
import { isJsonObject } from "../../core/json.ts";
import type { Logger } from "../../core/logger.ts";
import { checkArgument, having } from "../../core/options.ts";
import type { Timers } from "../../core/timers.ts";
import type { Companion } from "../companion.ts";

/** A text that must be delivered and that no model has acknowledged yet. */
export interface PendingItem {
  readonly id: string;
  readonly text: string;
  /** When it was decided on: ISO 8601 in UTC. It tells a text's age after a restart. */
  readonly queuedAt: string;
}

/** Where the texts that must be delivered outlive the process. */
export interface PendingInjections {
  /** What the last `save` that resolved was given; one that did not resolve may count as well. */
  load(): Promise<readonly PendingItem[]>;
  /**
   * Replaces all of them: at most 16, in the order in which they are to be delivered. Resolves once
   * they survive the process. One call at a time; after a rejection the call is repeated, with what
   * there is then.
   */
  save(items: readonly PendingItem[]): Promise<void>;
}

/** What of a stored list can be used, whatever it holds: items with an id, a text and a time. */
export function readPendingItems(stored: unknown): readonly PendingItem[] {
  if (!Array.isArray(stored)) return [];
  return stored.flatMap((value: unknown) => {
    if (!isJsonObject(value)) return [];
    const { id, text, queuedAt } = value;
    if (typeof id !== "string" || id === "" || typeof text !== "string") return [];
    if (typeof queuedAt !== "string") return [];
    return [{ id, text, queuedAt }];
  });
}

/** After a failed save the next attempt waits this long, then twice as long each time. */
const firstRetryMs = 1_000;
const longestRetryMs = 30_000;

/** Saves the list whenever it changes, one save at a time, the latest list always. */
export class PendingWriter {
  readonly #port: PendingInjections;
  readonly #timers: Timers;
  readonly #logger: Logger;
  #items: readonly PendingItem[];
  #last: Promise<void> = Promise.resolve();
  /** The save that is to begin when the one under way has ended. */
  #next: Promise<void> | undefined;
  #isClosed = false;
  #stopWaiting = () => {};

  constructor(
    ports: {
      readonly pending: PendingInjections;
      readonly timers: Timers;
      readonly logger: Logger;
    },
    items: readonly PendingItem[],
  ) {
    this.#port = ports.pending;
    this.#timers = ports.timers;
    this.#logger = ports.logger;
    this.#items = items;
  }

  /** Resolves once these, or what followed them, are saved; after `close` at once, saved or not. */
  keep(items: readonly PendingItem[]): Promise<void> {
    if (this.#isClosed || isSame(items, this.#items)) return this.#last;
    this.#items = items;
    this.#next ??= this.#last.then(() => {
      this.#next = undefined;
      return this.#save();
    });
    this.#last = this.#next;
    return this.#last;
  }

  /** Tries no failed save again. Resolves when the one under way has ended. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#stopWaiting();
    await this.#last;
  }

  async #save(): Promise<void> {
    for (let waitMs = firstRetryMs; ; waitMs = Math.min(2 * waitMs, longestRetryMs)) {
      try {
        return await this.#port.save(this.#items);
      } catch (error) {
        this.#logger.warn({ error: errorName(error) }, "pending injections could not be saved");
      }
      if (this.#isClosed) return;
      await new Promise<void>((resolve) => {
        const cancel = this.#timers.after(waitMs, resolve, { holdsProcess: true });
        this.#stopWaiting = () => {
          cancel();
          resolve();
        };
      });
      if (this.#isClosed) return;
    }
  }
}

function isSame(a: readonly PendingItem[], b: readonly PendingItem[]): boolean {
  return (
    a.length === b.length &&
    a.every((item, index) => item.id === b[index]?.id && item.text === b[index]?.text)
  );
}

/** Keeps what an injector must still deliver in the companion's document: saved at once, each time. */
export function companionInjections(companion: Companion): PendingInjections {
  checkArgument(companion, "companion", having("what startCompanion resolves to", "injections"));
  const { injections } = companion;
  return {
    load: async () => readPendingItems(await injections.load()),
    save: (items) => injections.save(items.map((item) => ({ ...item }))),
  };
}

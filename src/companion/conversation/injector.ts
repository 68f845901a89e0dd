import { type Clock, isoTime } from "../../core/clock.ts";
import { errorName, invalid } from "../../core/errors.ts";
import type { NewId } from "../../core/ids.ts";
import { type Logger, silentLogger } from "../../core/logger.ts";
import { Lru } from "../../core/lru.ts";
import { checkArgument, having } from "../../core/options.ts";
import type { Timers } from "../../core/timers.ts";
import { awayText } from "../../core/turns/turn-context.ts";
import type { Injection, InjectionResult, InjectOptions } from "./injection.ts";
import {
  charactersOf,
  type DroppedText,
  InjectionQueue,
  type QueuedText,
} from "./injection-queue.ts";
import type { InjectionStream } from "./injection-stream.ts";
import { type PendingInjections, type PendingItem, PendingWriter } from "./pending-injections.ts";

export interface InjectorPorts {
  readonly stream: InjectionStream;
  readonly pending: PendingInjections;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly newId: NewId;
  /** Gets ids, counts and reasons, never a text. */
  readonly logger?: Logger;
}

/** At most one injection in this time, on the monotonic clock. Source: the voice model's own limit. */
export const throttleMs = 3_000;
/** A stream that does not answer for this long is taken not to have heard. */
const acknowledgeTimeoutMs = 30_000;
/** After refusals in a row, the longest time until the next attempt. */
const longestRetryMs = 30_000;
/** How many ids of delivered texts are remembered, the newest, so that a repeat is known for one. */
const maxDeliveredIds = 1_000;

/** One call of `stream.inject`. */
interface Attempt {
  readonly voiceStream: string;
  readonly items: readonly QueuedText[];
  readonly ended: PromiseWithResolvers<void>;
  readonly stopTimeout: () => void;
}

/**
 * Puts texts into a voice model's stream while it runs: in order, at most one injection in 3 s, none
 * while the model speaks or the stream is down. What comes in the meantime waits and is merged, a
 * blank line between; what waited more than 5 s says so. Nothing is dropped in silence.
 */
export class Injector {
  readonly #ports: InjectorPorts;
  readonly #logger: Logger;
  readonly #queue = new InjectionQueue();
  readonly #writer: PendingWriter;
  readonly #open = new Map<string, PromiseWithResolvers<InjectionResult>>();
  readonly #delivered = new Lru<string, true>(maxDeliveredIds);
  readonly #stopListening: () => void;
  #attempt: Attempt | undefined;
  #voiceStream: string;
  #throttledUntilMs = Number.NEGATIVE_INFINITY;
  /** Later than the throttle's end after refusals, of which there were so many in a row. */
  #retryAtMs = Number.NEGATIVE_INFINITY;
  #rejectionsInRow = 0;
  #stopTimer = () => {};
  #isClosed = false;

  private constructor(ports: InjectorPorts, pending: readonly PendingItem[]) {
    this.#ports = ports;
    this.#logger = ports.logger ?? silentLogger;
    this.#writer = new PendingWriter({ ...ports, logger: this.#logger }, pending);
    this.#voiceStream = ports.stream.voiceStream;
    for (const item of pending) this.#takeUp(item);
    this.#stopListening = ports.stream.onChange(() => this.#onChange());
    this.#pump();
  }

  /**
   * Takes up what earlier runs did not deliver, and begins. One injector a stream.
   *
   * Rejects with what `pending.load` rejects with: what cannot be read is not overwritten.
   */
  static async open(ports: InjectorPorts): Promise<Injector> {
    checkArgument(ports, "ports", having("{ stream, pending, clock, timers }", "pending"));
    return new Injector(ports, await ports.pending.load());
  }

  /** What waits for the next injection; what the stream has been given is not in it. */
  get waiting(): { readonly items: number; readonly characters: number } {
    const { waiting } = this.#queue;
    return { items: waiting.length, characters: charactersOf(waiting) };
  }

  /**
   * Hands a text to the model as soon as it can take one.
   *
   * The same id again is the same injection, also after a restart: the new text takes the place of
   * one that waits, and is as old as it is new; one that is acknowledged while on its way, or is among
   * the last 1,000 that were in this run, is not sent again. A repeat that is refused changes nothing
   * of what was there. A process that is killed sends again, under its id,
   * what must be delivered and was not acknowledged and noted as such; `InjectionStream.inject` says
   * what that means for a stream that does not know its ids.
   *
   * @param text at most 8,000 characters; 16,000 for one that must be delivered while no other is.
   */
  inject(text: string, options: InjectOptions = {}): Injection {
    const { mustDeliver = false, id = this.#ports.newId() } = options;
    if (id.length < 1 || id.length > 200) throw invalid("id must have 1 to 200 characters");
    if (this.#isClosed) return over(id, { kind: "dropped", reason: "closed" });
    if (this.#delivered.has(id)) return over(id, { kind: "delivered" });
    const { clock } = this.#ports;
    const item = { id, text, mustDeliver, sinceMs: clock.monotonic(), rejections: 0 };
    const open = this.#enter({ ...item, queuedAt: isoTime(clock.now()) });
    this.#pump();
    return { id, result: this.#resultOf(id, open), outcome: open };
  }

  /**
   * Sends nothing more, gives what the stream has been given `graceMs` to be acknowledged, and lets
   * go: ordinary texts are dropped, the others stay for the next run. Saves nothing afterwards.
   */
  async close(graceMs = 0): Promise<void> {
    this.#isClosed = true;
    this.#stopListening();
    this.#stopTimer();
    if (this.#attempt !== undefined && graceMs > 0) await this.#waitFor(this.#attempt, graceMs);
    this.#attempt?.stopTimeout();
    await this.#writer.close();
    const mustDeliver = new Set(this.#queue.mustDeliver.map(({ id }) => id));
    for (const [id, { resolve }] of this.#open) {
      resolve(mustDeliver.has(id) ? { kind: "queued" } : { kind: "dropped", reason: "closed" });
    }
    this.#open.clear();
  }

  #takeUp({ id, text, queuedAt }: PendingItem): void {
    const { clock } = this.#ports;
    const age = clock.now() - Date.parse(queuedAt);
    // A clock that was set back, or a time that is none: no age is better than a wrong one.
    const sinceMs = clock.monotonic() - (age > 0 ? age : 0);
    // No caller in this run waits for the outcome.
    void this.#enter({ id, text, queuedAt, sinceMs, mustDeliver: true, rejections: 0 });
  }

  /** @returns how it will have ended. */
  #enter(given: QueuedText): Promise<InjectionResult> {
    const { id } = given;
    const open = this.#open.get(id) ?? Promise.withResolvers<InjectionResult>();
    const item = asRepeat(given, this.#queue.find(id));
    const reason = this.#queue.refusal(item);
    if (reason !== undefined) {
      this.#logDrop({ item, reason });
      return Promise.resolve({ kind: "dropped", reason });
    }
    this.#open.set(id, open);
    this.#drop(this.#queue.put(item));
    return open.promise;
  }

  #resultOf(id: string, outcome: Promise<InjectionResult>): Promise<InjectionResult> {
    const kept = this.#keep();
    const attempt = this.#queue.isSending(id) ? this.#attempt : undefined;
    const isPending = this.#queue.mustDeliver.some((item) => item.id === id);
    const isMerged = attempt === undefined && this.#ports.stream.state === "idle";
    const waiting = async (): Promise<InjectionResult> => {
      await attempt?.ended.promise;
      if (isPending) await kept;
      return { kind: isMerged ? "merged" : "queued" };
    };
    return Promise.race([outcome, waiting()]);
  }

  #keep(): Promise<void> {
    return this.#writer.keep(
      this.#queue.mustDeliver.map(({ id, text, queuedAt }) => ({ id, text, queuedAt })),
    );
  }

  #onChange(): void {
    const { voiceStream } = this.#ports.stream;
    if (voiceStream !== this.#voiceStream) {
      this.#voiceStream = voiceStream;
      this.#queue.forgiveRejections();
      this.#forgetRefusals();
      if (this.#attempt !== undefined) this.#failed(this.#attempt, "the voice stream changed");
    }
    this.#pump();
  }

  /** Sends what waits as soon as the stream and the throttle allow it. */
  #pump(): void {
    this.#stopTimer();
    if (this.#isClosed || this.#attempt !== undefined) return;
    const { stream, clock, timers } = this.#ports;
    if (stream.state !== "idle" || !this.#queue.isReady) return;
    const waitMs = Math.max(this.#throttledUntilMs, this.#retryAtMs) - clock.monotonic();
    if (waitMs > 0) {
      this.#stopTimer = timers.after(waitMs, () => this.#pump(), { holdsProcess: true });
    } else this.#send();
  }

  #send(): void {
    const { stream, clock, timers } = this.#ports;
    const items = this.#queue.take();
    const late = () => this.#failed(attempt, "no answer");
    const attempt: Attempt = {
      items,
      voiceStream: stream.voiceStream,
      ended: Promise.withResolvers(),
      stopTimeout: timers.after(acknowledgeTimeoutMs, late, { holdsProcess: true }),
    };
    this.#attempt = attempt;
    this.#throttledUntilMs = clock.monotonic() + throttleMs;
    const text = injectionText(items, clock.monotonic());
    const ids = items.map(({ id }) => id);
    // In an async function, so that a stream that throws rejects.
    const sent = (async () => stream.inject(text, ids))();
    void sent.then(
      () => this.#acknowledged(attempt),
      (error) => this.#failed(attempt, errorName(error)),
    );
  }

  /** Counts also when it comes late, for a call that was given up. */
  #acknowledged(attempt: Attempt): void {
    for (const { id } of attempt.items) {
      const open = this.#open.get(id);
      if (open === undefined) continue;
      this.#queue.remove(id);
      this.#open.delete(id);
      this.#remember(id);
      open.resolve({ kind: "delivered" });
    }
    void this.#keep();
    if (attempt !== this.#attempt) return;
    this.#forgetRefusals();
    this.#end(attempt);
    this.#pump();
  }

  #failed(attempt: Attempt, error: string): void {
    if (attempt !== this.#attempt) return;
    const { stream, clock } = this.#ports;
    // A stream that went down, or is another by now, says nothing of the texts.
    const isRejected = stream.state !== "inactive" && stream.voiceStream === attempt.voiceStream;
    const fields = { error, items: attempt.items.length, isRejected };
    this.#logger.warn(fields, "an injection was not acknowledged");
    this.#drop(this.#queue.putBack({ isRejected }));
    if (isRejected) {
      const retryMs = Math.min(throttleMs * 2 ** this.#rejectionsInRow, longestRetryMs);
      this.#retryAtMs = clock.monotonic() + retryMs;
      this.#rejectionsInRow++;
    }
    this.#end(attempt);
    this.#pump();
  }

  #forgetRefusals(): void {
    this.#rejectionsInRow = 0;
    this.#retryAtMs = Number.NEGATIVE_INFINITY;
  }

  #end(attempt: Attempt): void {
    attempt.stopTimeout();
    this.#attempt = undefined;
    attempt.ended.resolve();
  }

  #drop(dropped: readonly DroppedText[]): void {
    for (const each of dropped) {
      const { id } = each.item;
      this.#logDrop(each);
      this.#open.get(id)?.resolve({ kind: "dropped", reason: each.reason });
      this.#open.delete(id);
    }
  }

  #logDrop({ item, reason }: DroppedText): void {
    if (reason === "empty") return; // nothing was lost
    const { id, text, mustDeliver, sinceMs } = item;
    const waitedMs = Math.round(this.#ports.clock.monotonic() - sinceMs);
    const fields = { id, reason, mustDeliver, characters: text.length, waitedMs };
    this.#logger.warn(fields, "an injection was dropped");
  }

  #remember(id: string): void {
    this.#delivered.set(id, true);
  }

  async #waitFor(attempt: Attempt, ms: number): Promise<void> {
    const passed = Promise.withResolvers<void>();
    const cancel = this.#ports.timers.after(ms, passed.resolve, { holdsProcess: true });
    await Promise.race([attempt.ended.promise, passed.promise]);
    cancel();
  }
}

/** The same id again: what was promised of it stays, and the same text keeps its age. */
function asRepeat(item: QueuedText, known: QueuedText | undefined): QueuedText {
  if (known === undefined) return item;
  const mustDeliver = known.mustDeliver || item.mustDeliver;
  return known.text === item.text ? { ...known, mustDeliver } : { ...item, mustDeliver };
}

/** An injection that is over before it began. */
function over(id: string, result: InjectionResult): Injection {
  return { id, result: Promise.resolve(result), outcome: Promise.resolve(result) };
}

/** A text that waited longer than this, in milliseconds, says its age to the model. */
const sayAgeAfterMs = 5_000;

/** One text of several, in their order, a blank line between; what waited says for how long. */
export function injectionText(
  items: readonly Pick<QueuedText, "text" | "sinceMs">[],
  nowMs: number,
): string {
  return items.map(({ text, sinceMs }) => agePrefix(nowMs - sinceMs) + text).join("\n\n");
}

/** "" up to 5 s; past them the whole seconds, minutes, hours or days, rounded down. */
function agePrefix(waitedMs: number): string {
  if (!(waitedMs > sayAgeAfterMs)) return "";
  const age = waitedMs < 60_000 ? `${Math.floor(waitedMs / 1000)} seconds` : awayText(waitedMs);
  return `[${age} ago] `;
}

import type { Clock } from "../../core/clock.ts";
import { errorName } from "../../core/errors.ts";
import type { Logger } from "../../core/logger.ts";
import type { Timers } from "../../core/timers.ts";
import { awayText } from "../../core/turns/ask.ts";
import type { Inject } from "../client-runs.ts";
import type { InjectionStream } from "./injection-stream.ts";

interface InjectorPorts {
  readonly stream: InjectionStream;
  /** What is to be heard, the oldest first. */
  readonly injects: () => readonly Inject[];
  /** Notes that all up to the one of this id were heard. */
  readonly heard: (id: string) => Promise<unknown>;
  /** Calls back when there may be more. @returns what ends it. */
  readonly onChange: (listener: () => void) => () => void;
  readonly clock: Clock;
  readonly timers: Timers;
  /** Gets ids, counts and reasons, never a text. */
  readonly logger: Logger;
}

/** At most one injection in this time, on the monotonic clock. Source: the voice model's own limit. */
export const throttleMs = 3_000;
/** A stream that does not answer for this long is taken not to have heard. */
const acknowledgeTimeoutMs = 30_000;
/** Refused this often, the oldest text is dropped, so that it does not stop those behind it. */
const mostRefusals = 3;

/** One call of `stream.inject`. */
interface Attempt {
  readonly voiceStream: string;
  readonly items: readonly Inject[];
  readonly stopTimeout: () => void;
}

/**
 * Puts what a client is to hear into the stream of a voice model in this process: in order, at most one
 * injection in 3 s, none while the model speaks or the stream is down. What comes in between is merged. After
 * a refusal the oldest text goes alone.
 */
export class Injector {
  readonly #ports: InjectorPorts;
  readonly #ends: readonly (() => void)[];
  #attempt: Attempt | undefined;
  #voiceStream: string;
  #nextAt = Number.NEGATIVE_INFINITY;
  #refusals = 0;
  #stopTimer = () => {};
  #isClosed = false;

  constructor(ports: InjectorPorts) {
    this.#ports = ports;
    this.#voiceStream = ports.stream.voiceStream;
    this.#ends = [
      ports.stream.onChange(() => this.#onStream()),
      ports.onChange(() => this.#pump()),
    ];
    this.#pump();
  }

  /** Sends nothing more. What the stream acknowledges later still counts. */
  close(): void {
    this.#isClosed = true;
    this.#stopTimer();
    this.#attempt?.stopTimeout();
    for (const end of this.#ends) end();
  }

  #onStream(): void {
    const { voiceStream } = this.#ports.stream;
    if (voiceStream !== this.#voiceStream) {
      this.#voiceStream = voiceStream;
      this.#refusals = 0;
      if (this.#attempt !== undefined) void this.#failed(this.#attempt, "the voice stream changed");
    }
    this.#pump();
  }

  /** Sends what waits as soon as the stream and the throttle allow it. */
  #pump(): void {
    this.#stopTimer();
    const { stream, injects, clock, timers } = this.#ports;
    if (this.#isClosed || this.#attempt !== undefined || stream.state !== "idle") return;
    const all = injects();
    if (all.length === 0) return;
    const waitMs = this.#nextAt - clock.monotonic();
    if (waitMs > 0) this.#stopTimer = timers.after(waitMs, () => this.#pump());
    else this.#send(this.#refusals > 0 ? all.slice(0, 1) : all);
  }

  #send(items: readonly Inject[]): void {
    const { stream, clock, timers } = this.#ports;
    const { voiceStream } = stream;
    const late = () => void this.#failed(attempt, "no answer");
    const attempt = { voiceStream, items, stopTimeout: timers.after(acknowledgeTimeoutMs, late) };
    this.#attempt = attempt;
    this.#nextAt = clock.monotonic() + throttleMs;
    const ids = items.map(({ id }) => id);
    // In an async function, so that a stream that throws rejects.
    const sent = (async () => stream.inject(injectionText(items, clock.now()), ids))();
    void sent.then(
      () => this.#acknowledged(attempt),
      (error) => this.#failed(attempt, errorName(error)),
    );
  }

  /** Counts also when it comes late, for a call that was given up. */
  async #acknowledged(attempt: Attempt): Promise<void> {
    if (attempt === this.#attempt) this.#refusals = 0;
    await this.#heard(attempt.items.at(-1));
    this.#end(attempt);
  }

  async #failed(attempt: Attempt, error: string): Promise<void> {
    if (attempt !== this.#attempt) return;
    const { stream, clock, logger } = this.#ports;
    const { items, voiceStream } = attempt;
    // A stream that went down, or is another by now, says nothing of the texts.
    const isRefused = stream.state !== "inactive" && stream.voiceStream === voiceStream;
    logger.warn({ error, items: items.length, isRefused }, "an injection was not acknowledged");
    if (isRefused) {
      this.#nextAt = clock.monotonic() + throttleMs * 2 ** this.#refusals++;
      if (this.#refusals >= mostRefusals) {
        const [oldest] = items;
        this.#refusals = 0;
        logger.warn({ id: oldest?.id }, "a text that the model refused three times was dropped");
        await this.#heard(oldest);
      }
    }
    this.#end(attempt);
  }

  #end(attempt: Attempt): void {
    attempt.stopTimeout();
    if (attempt === this.#attempt) this.#attempt = undefined;
    this.#pump();
  }

  async #heard(last: Inject | undefined): Promise<void> {
    if (last === undefined || !this.#ports.injects().includes(last)) return;
    try {
      await this.#ports.heard(last.id);
    } catch (error) {
      this.#ports.logger.warn(
        { error: errorName(error) },
        "it is not stored that texts were heard",
      );
    }
  }
}

/** A text that waited longer than this, in milliseconds, says its age to the model. */
const sayAgeAfterMs = 5_000;

/** One text of several, in their order, a blank line between; what waited says for how long. */
export function injectionText(items: readonly Inject[], now: number): string {
  return items
    .map(({ text, queuedAt }) => agePrefix(now - Date.parse(queuedAt)) + text)
    .join("\n\n");
}

/** "" up to 5 s; past them the whole seconds, minutes, hours or days, rounded down. */
function agePrefix(waitedMs: number): string {
  if (!(waitedMs > sayAgeAfterMs)) return "";
  const age = waitedMs < 60_000 ? `${Math.floor(waitedMs / 1000)} seconds` : awayText(waitedMs);
  return `[${age} ago] `;
}

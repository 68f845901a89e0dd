// What a client's model is to hear while it runs: put into its stream, or published as an event.

import { errorName } from "../../core/errors.ts";
import type { Runtime } from "../../core/runtime.ts";
import type { Inject } from "../client-runs.ts";
import { durationText } from "../durations.ts";
import type { KeptLife } from "../kept-life.ts";

/** A voice model's stream: not connected, connected and silent, or speaking. */
export type StreamState = "inactive" | "idle" | "speaking";

/** A voice model's stream as the injector sees it: what text can be put into while it runs. */
export interface InjectionStream {
  readonly state: StreamState;
  /** The id of the voice provider's stream: another one once the provider began a new stream. */
  readonly voiceStream: string;
  /**
   * Puts one text into the voice stream. Called only while `state` is `"idle"`, one call at a
   * time, at most one in 3.0 s.
   *
   * Resolves when the model acknowledged it. Rejects when the model did not take it: it is sent again. It
   * settles at the latest when the voice stream ends; a call that does not is given up by the
   * injector after 30 s.
   *
   * A call that was given up, and one that was acknowledged just before the process was killed, is
   * made again with the same ids. A stream that remembers the ids that its model took resolves then
   * without a second delivery: with it, each id is delivered exactly once. Without, at this single
   * point, it is at least once.
   *
   * @param ids of the texts that `text` was put together from, in their order.
   */
  inject(text: string, ids: readonly string[]): Promise<void>;
  /**
   * Calls back after each change of `state` or `voiceStream`.
   *
   * @returns what ends it.
   */
  onChange(listener: () => void): () => void;
}

/** At most one injection in this time, on the monotonic clock. Source: the voice model's own limit. */
const throttleMs = 3_000;
/** A stream that does not answer for this long is taken not to have heard. */
const acknowledgeTimeoutMs = 30_000;

export class Throttle {
  readonly #ports: Pick<Runtime, "clock" | "timers">;
  /** @returns whether something was sent. */
  readonly #send: () => boolean;
  #nextAt = Number.NEGATIVE_INFINITY;
  #cancel = () => {};

  constructor(ports: Pick<Runtime, "clock" | "timers">, send: () => boolean) {
    this.#ports = ports;
    this.#send = send;
  }

  /** Sends what there is, now or as soon as the time is over. */
  look(): void {
    this.#cancel();
    const { clock, timers } = this.#ports;
    const now = clock.monotonic();
    if (now < this.#nextAt) this.#cancel = timers.after(this.#nextAt - now, () => this.look());
    else if (this.#send()) this.#nextAt = now + throttleMs;
  }

  close(): void {
    this.#cancel();
  }
}

interface Attempt {
  readonly voiceStream: string;
  readonly stopTimeout: () => void;
}

/**
 * Puts what a client is to hear into the stream of a voice model in this process, all in one text and in order:
 * at most once in 3 s, and not while the model speaks or the stream is down. It is kept until the stream
 * acknowledges it.
 */
export class Injector {
  readonly #kept: KeptLife;
  readonly #client: string;
  readonly #stream: InjectionStream;
  readonly #throttle: Throttle;
  readonly #ends: readonly (() => void)[];
  #attempt: Attempt | undefined;
  #isClosed = false;
  /** The last text that the model acknowledged, until that is noted. */
  #heard: string | undefined;

  constructor(kept: KeptLife, client: string, stream: InjectionStream) {
    this.#kept = kept;
    this.#client = client;
    this.#stream = stream;
    this.#throttle = new Throttle(kept.ports, () => this.#send());
    this.#ends = [
      stream.onChange(() => this.#onStream()),
      kept.onChange(({ type }) => type === "injects" && this.#throttle.look()),
    ];
    this.#throttle.look();
  }

  /** Sends nothing more. What the stream acknowledges later still counts. */
  close(): void {
    this.#isClosed = true;
    this.#throttle.close();
    this.#attempt?.stopTimeout();
    for (const end of this.#ends) end();
  }

  #onStream(): void {
    const attempt = this.#attempt;
    if (attempt !== undefined && attempt.voiceStream !== this.#stream.voiceStream) {
      this.#end(attempt);
    } else this.#throttle.look();
  }

  /** What is kept for the client, the oldest first. */
  get #injects(): readonly Inject[] {
    return this.#kept.life.clients.find(({ client }) => client === this.#client)?.injects ?? [];
  }

  #send(): boolean {
    const stream = this.#stream;
    const { clock, timers, logger } = this.#kept.ports;
    const injects = this.#injects;
    const isFree = !this.#isClosed && this.#attempt === undefined && stream.state === "idle";
    if (!isFree || injects.length === 0) return false;
    const items = injects.slice(this.#placeOf(this.#heard) + 1);
    const stopTimeout = timers.after(acknowledgeTimeoutMs, () => this.#end(attempt));
    const attempt = { voiceStream: stream.voiceStream, stopTimeout };
    this.#attempt = attempt;
    const ids = items.map(({ id }) => id);
    const text = injectionText(items, clock.now());
    void (async () => {
      try {
        if (items.length > 0) await stream.inject(text, ids);
        // Counts also when it comes late, for a call that was given up.
        if (this.#placeOf(ids.at(-1)) > this.#placeOf(this.#heard)) this.#heard = ids.at(-1);
        const last = this.#injects.find(({ id }) => id === this.#heard);
        const step = { kind: "client", client: this.#client, does: "heard" } as const;
        if (last !== undefined) await this.#kept.save({ ...step, text: last.id });
      } catch (error) {
        logger.warn({ error: errorName(error), items: items.length }, "texts were not heard");
      }
      this.#end(attempt);
    })();
    return true;
  }

  /** Finds the place of a text among those that are kept; -1: it is not one. */
  #placeOf(textId: string | undefined): number {
    return this.#injects.findIndex(({ id }) => id === textId);
  }

  #end(attempt: Attempt): void {
    attempt.stopTimeout();
    if (attempt === this.#attempt) this.#attempt = undefined;
    if (!this.#isClosed) this.#throttle.look();
  }
}

/** A text that waited longer than this, in milliseconds, says its age to the model. */
const sayAgeAfterMs = 5_000;

/** One text of several, in their order, a blank line between; what waited says for how long. */
export function injectionText(items: readonly Inject[], now: number): string {
  const aged = items.map(({ text, queuedAt }) => {
    const gapMs = now - Date.parse(queuedAt);
    const isOld = gapMs > sayAgeAfterMs;
    return isOld ? `[${durationText({ gapMs, certainty: "clock" })} ago] ${text}` : text;
  });
  return aged.join("\n\n");
}

// What a client's model is to hear while it runs: put into its stream, or published as an event.

import { errorName } from "../../core/errors.ts";
import type { Runtime } from "../../core/runtime.ts";
import { until } from "../../core/timers.ts";
import type { Inject } from "../client-runs.ts";
import { durationText } from "../gap.ts";
import type { KeptLife } from "../kept-life.ts";

/** A voice model's stream: not connected, connected and silent, or speaking. */
export type StreamState = "inactive" | "idle" | "speaking";

/** A voice model's stream as the injector sees it: what text can be put into while it runs. */
export interface InjectionStream {
  readonly state: StreamState;
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
  /** Calls back after each change of `state`. @returns what ends it. */
  onChange(listener: () => void): () => void;
}

/** At most one injection in this time, on the monotonic clock. Source: the voice model's own limit. */
const throttleMs = 3_000;
/** A stream that does not answer for this long is taken not to have heard. */
const acknowledgeTimeoutMs = 30_000;

/** Sends once in 3 s at most. @param send returns whether something was sent. */
export function throttled(
  { clock, timers }: Pick<Runtime, "clock" | "timers">,
  send: () => boolean,
) {
  let nextAt = Number.NEGATIVE_INFINITY;
  let cancel = () => {};
  let isClosed = false;
  /** Sends what there is, now or as soon as the time is over. */
  const look = (): void => {
    cancel();
    if (isClosed) return;
    const now = clock.monotonic();
    if (now < nextAt) cancel = timers.after(nextAt - now, look);
    else if (send()) nextAt = now + throttleMs;
  };
  const close = () => {
    isClosed = true;
    cancel();
  };
  return { look, close };
}

/**
 * Puts what a client is to hear into the stream of a voice model in this process, all in one text and in order:
 * at most once in 3 s, and not while the model speaks or the stream is down. It is kept until the stream
 * acknowledges it.
 *
 * @returns what ends it: nothing more is sent. What the stream acknowledges later still counts.
 */
export function injectInto(kept: KeptLife, client: string, stream: InjectionStream): () => void {
  const { clock, timers, logger } = kept.ports;
  const closing = new AbortController();
  const { signal } = closing;
  let isSending = false;
  /** The last text that the model acknowledged, until that is noted. */
  let heard: string | undefined;
  /** What is kept for the client, the oldest first. */
  const injects = () => kept.life.clients.find((run) => run.client === client)?.injects ?? [];
  const placeOf = (textId: string | undefined) => injects().findIndex(({ id }) => id === textId);
  const send = async (items: readonly Inject[]) => {
    const ids = items.map(({ id }) => id);
    try {
      if (items.length > 0) await stream.inject(injectionText(items, clock.now()), ids);
      // Counts also when it comes late, for a call that was given up.
      if (placeOf(ids.at(-1)) > placeOf(heard)) heard = ids.at(-1);
      if (placeOf(heard) < 0) return;
      await kept.save({ kind: "client", client, does: "heard", text: heard });
    } catch (error) {
      logger.warn({ error: errorName(error), items: items.length }, "texts were not heard");
    }
  };
  const throttle = throttled(kept.ports, () => {
    const isFree = !isSending && stream.state === "idle";
    if (!isFree || injects().length === 0) return false;
    isSending = true;
    const sent = send(injects().slice(placeOf(heard) + 1));
    void until(sent, { ms: acknowledgeTimeoutMs, timers, signal }).then(() => {
      isSending = false;
      throttle.look();
    });
    return true;
  });
  const ends = [
    stream.onChange(() => throttle.look()),
    kept.onChange(({ type }) => type === "injects" && throttle.look()),
    () => throttle.close(),
    () => closing.abort(),
  ];
  throttle.look();
  return () => {
    for (const end of ends) end();
  };
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

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
   * Resolves when the model acknowledged it. Rejects when the model did not take it and will not. It
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

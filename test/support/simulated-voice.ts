import type { InjectionStream, StreamState } from "../../src/companion/conversation/injector.ts";

/** One call of `inject`. */
export interface VoiceCall {
  readonly text: string;
  readonly ids: readonly string[];
  /** What the stream was doing when it was called; anything but `idle` breaks its contract. */
  readonly state: StreamState;
}

interface OpenCall extends VoiceCall {
  readonly settle: PromiseWithResolvers<void>;
}

/** A voice model's stream that does what a test says, and writes down what its model took. */
export class SimulatedVoice implements InjectionStream {
  /** Each call, whatever became of it. */
  readonly calls: VoiceCall[] = [];
  /** The texts that the model took, in order: their ids, then as they were merged. */
  readonly takenIds: string[] = [];
  readonly takenTexts: string[] = [];
  /** Acknowledges each call at once. */
  isPrompt = true;
  readonly #listeners = new Set<() => void>();
  #open: OpenCall[] = [];
  #state: StreamState;

  constructor(state: StreamState) {
    this.#state = state;
  }

  get state(): StreamState {
    return this.#state;
  }

  /** How many calls wait for an answer. */
  get openCalls(): number {
    return this.#open.length;
  }

  get listenerCount(): number {
    return this.#listeners.size;
  }

  async inject(text: string, ids: readonly string[]): Promise<void> {
    const { state } = this;
    const call = { text, ids, state };
    this.calls.push(call);
    const settle = Promise.withResolvers<void>();
    this.#open.push({ ...call, settle });
    if (this.isPrompt) this.acknowledge();
    await settle.promise;
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  become(state: StreamState): void {
    this.#state = state;
    for (const listener of [...this.#listeners]) listener();
  }

  /** The model takes what was sent; by its ids it knows what it has taken before. */
  acknowledge(): void {
    for (const { text, ids, settle } of this.#close()) {
      const newIds = ids.filter((id) => !this.takenIds.includes(id));
      if (newIds.length > 0) this.takenTexts.push(text);
      this.takenIds.push(...newIds);
      settle.resolve();
    }
  }

  /** The model refuses what was sent. */
  refuse(): void {
    for (const { settle } of this.#close()) settle.reject(new Error("refused"));
  }

  #close(): readonly OpenCall[] {
    const open = this.#open;
    this.#open = [];
    return open;
  }
}

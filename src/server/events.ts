import type { z } from "zod";
import type { StoredMessage } from "../core/chat/message.ts";
import { ThroughlineError } from "../core/errors.ts";
import type { Turn } from "../core/turns/turn.ts";
import type { events } from "./event-schemas.ts";
import { problemOf } from "./problem.ts";
import { EventStream, type EventStreamOptions, eventBytes } from "./sse.ts";
import { messageJson, retryJson } from "./wire.ts";

/** What the server itself publishes; a feature adds its own. A repeated request publishes a message again. */
type Events = { readonly [Name in keyof typeof events]: Sent<z.output<(typeof events)[Name]>> };
type Sent<T> = T extends readonly (infer Item)[]
  ? readonly Sent<Item>[]
  : T extends object
    ? { readonly [Key in keyof T]: Sent<T[Key]> }
    : T;

/** The data of an event: the server's own are checked by their names. */
type DataOf<Name extends string> = Name extends keyof Events ? Events[Name] : object;

type Relay = (name: string, event: object) => void;

/** Everyone who watches: streams of events, and of turns that were taken up again. Bounded. */
export class Watchers {
  readonly #max: number;
  readonly #options: EventStreamOptions;
  readonly #streams = new Set<EventStream>();
  readonly #listeners = new Set<EventStream>();
  readonly #relays = new Set<Relay>();
  readonly #joined = new Set<(stream: EventStream) => void>();

  constructor(max: number, options: EventStreamOptions) {
    this.#max = max;
    this.#options = options;
  }

  get size(): number {
    return this.#streams.size;
  }

  /**
   * A stream that counts as a watcher until it is over.
   *
   * @param onDrop for a reader that is too slow: closes its connection.
   * @throws ThroughlineError `THROUGHLINE_BUSY`: there are enough.
   */
  open(onDrop: () => void): EventStream {
    if (this.#streams.size >= this.#max) {
      throw new ThroughlineError("enough streams are open already", { code: "THROUGHLINE_BUSY" });
    }
    const stream = new EventStream({
      ...this.#options,
      onEnd: (how) => {
        this.#streams.delete(stream);
        this.#listeners.delete(stream);
        if (how === "dropped") onDrop();
      },
    });
    this.#streams.add(stream);
    return stream;
  }

  /** The same, for everything that is published. */
  listen(onDrop: () => void): EventStream {
    const stream = this.open(onDrop);
    this.#listeners.add(stream);
    for (const join of this.#joined) join(stream);
    return stream;
  }

  /** Calls back with each stream that begins to listen here. @returns a function that ends it. */
  onListen(join: (stream: EventStream) => void): () => void {
    this.#joined.add(join);
    return () => this.#joined.delete(join);
  }

  /** Whether anybody listens here. */
  get hasListeners(): boolean {
    return this.#listeners.size > 0;
  }

  /** Sends an event to those who listen here, and at every other server of this companion. */
  publish<Name extends string>(name: Name, event: DataOf<Name>): void {
    this.publishHere(name, event);
    for (const relay of this.#relays) relay(name, event);
  }

  /** Sends an event to those who listen here. */
  publishHere<Name extends string>(name: Name, event: DataOf<Name>): void {
    if (this.#listeners.size === 0) return;
    const bytes = eventBytes(name, event);
    for (const stream of this.#listeners) stream.push(bytes);
  }

  /** Calls back for what is published here by `publish`. @returns a function that ends it. */
  onPublish(relay: Relay): () => void {
    this.#relays.add(relay);
    return () => this.#relays.delete(relay);
  }

  /** Publishes a turn: that it runs, its messages as they are stored, how it ended. */
  async publishTurn(turn: Turn): Promise<void> {
    const ids = { chat_id: turn.chatId, turn_id: turn.id };
    const publishMessage = (stored: StoredMessage) => {
      const message = messageJson(stored);
      this.publish("message", { change: "stored", chat_id: turn.chatId, message });
    };
    this.publish("turn", { ...ids, state: "running" });
    const ofRetry: StoredMessage[] = [];
    try {
      for await (const item of turn.progress()) {
        if (item.type === "accepted") publishMessage(item.user);
        if (item.type === "retrying") this.publish("retrying", { ...ids, ...retryJson(item) });
        // What a retry stores is hidden until its answer is there.
        if (item.type === "message" && turn.retryId !== undefined) ofRetry.push(item.message);
        else if (item.type === "message") publishMessage(item.message);
        if (item.type !== "result") continue;
        if (item.answer.assistant !== undefined) for (const each of ofRetry) publishMessage(each);
        if (item.answer.assistant !== undefined) publishMessage(item.answer.assistant);
        this.publish("turn", { ...ids, state: item.answer.outcome });
      }
    } catch (error) {
      this.publish("turn", { ...ids, state: "failed", code: problemOf(error).code });
    }
  }

  /** Ends the streams of those who listen: they come back, and read what they may have missed. */
  endListening(): void {
    for (const stream of [...this.#listeners]) stream.end();
  }

  /** Ends every stream. */
  end(): void {
    for (const stream of [...this.#streams]) stream.end();
  }
}

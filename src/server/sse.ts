import { wellFormedJson } from "../core/json.ts";

/** Server-sent events to one reader: in order, bounded, and over when either side says so. */
export interface EventStreamOptions {
  /** What may wait for the reader. One more event drops it. */
  readonly maxBytes: number;
  /** How often a quiet stream says that it is there. */
  readonly keepAliveMs: number;
  /** Called once, however it ended. `dropped`: the reader was too slow, its connection is no use. */
  readonly onEnd?: (how: "ended" | "left" | "dropped") => void;
}

const encoder = new TextEncoder();
const connected = encoder.encode(": connected\n\n");
const keepAlive = encoder.encode(": keep-alive\n\n");

/** An event as it goes over the wire. */
export function eventBytes(event: string, data: object): Uint8Array {
  // JSON text has no line breaks: one data line is enough.
  return encoder.encode(`event: ${event}\ndata: ${wellFormedJson(data)}\n\n`);
}

export class EventStream {
  /** The bytes of a `text/event-stream` response. */
  readonly body: ReadableStream<Uint8Array>;
  readonly #options: EventStreamOptions;
  readonly #timer: NodeJS.Timeout;
  #waiting: Uint8Array[] = [];
  #bytes = 0;
  #isOver = false;
  #wake = Promise.withResolvers<void>();

  constructor(options: EventStreamOptions) {
    this.#options = options;
    this.body = new ReadableStream<Uint8Array>(
      {
        pull: (controller) => this.#pull(controller),
        cancel: () => this.#finish("left"),
      },
      { highWaterMark: 0 },
    );
    this.#timer = setInterval(() => {
      if (this.#bytes === 0) this.push(keepAlive);
    }, options.keepAliveMs).unref();
    // So that the reader hears at once that it is connected.
    this.push(connected);
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** Adds an event. Does nothing once the stream is over. */
  send(event: string, data: object): void {
    this.push(eventBytes(event, data));
  }

  /** Adds an event that was made into bytes before: several streams can share them. */
  push(chunk: Uint8Array): void {
    if (this.#isOver) return;
    // One event that is larger than the bound may wait alone.
    if (this.#bytes > 0 && this.#bytes + chunk.length > this.#options.maxBytes) {
      this.#waiting = [];
      this.#finish("dropped");
      return;
    }
    this.#waiting.push(chunk);
    this.#bytes += chunk.length;
    this.#stir();
  }

  /** Resolves when everything sent is on its way. @returns whether there is still a reader. */
  async flushed(): Promise<boolean> {
    while (!this.#isOver && this.#bytes > 0) await this.#wake.promise;
    return !this.#isOver;
  }

  /** What was sent still arrives, and then the response ends. */
  end(): void {
    this.#finish("ended");
  }

  /** Runs once per read of the reader, so never before the last chunk has left. */
  async #pull(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
    while (this.#waiting.length === 0 && !this.#isOver) await this.#wake.promise;
    const [first, ...others] = this.#waiting;
    const chunk = others.length === 0 ? first : Buffer.concat(this.#waiting);
    this.#waiting = [];
    this.#bytes = 0;
    this.#stir();
    if (chunk === undefined) controller.close();
    else controller.enqueue(chunk);
  }

  #finish(how: "ended" | "left" | "dropped"): void {
    if (this.#isOver) return;
    this.#isOver = true;
    clearInterval(this.#timer);
    this.#stir();
    this.#options.onEnd?.(how);
  }

  #stir(): void {
    const { resolve } = this.#wake;
    this.#wake = Promise.withResolvers<void>();
    resolve();
  }
}

export function eventResponse(stream: EventStream): Response {
  // The last keeps proxies from holding events back.
  const headers = { "content-type": "text/event-stream", "x-accel-buffering": "no" };
  return new Response(stream.body, { headers });
}

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
      if (this.#bytes === 0) this.#push(": keep-alive\n\n");
    }, options.keepAliveMs).unref();
    // So that the reader hears at once that it is connected.
    this.#push(": connected\n\n");
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** Adds an event. Does nothing once the stream is over. */
  send(event: string, data: object): void {
    // JSON text has no line breaks: one data line is enough.
    this.#push(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
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

  #push(text: string): void {
    if (this.#isOver) return;
    const chunk = encoder.encode(text);
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

  /** Runs once per read of the reader, so never before the last chunk has left. */
  async #pull(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
    while (this.#waiting.length === 0 && !this.#isOver) await this.#wake.promise;
    const chunk = Buffer.concat(this.#waiting);
    this.#waiting = [];
    this.#bytes = 0;
    this.#stir();
    if (chunk.length > 0) controller.enqueue(chunk);
    else controller.close();
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

/** The last keeps proxies from holding events back. */
export const eventHeaders = { "content-type": "text/event-stream", "x-accel-buffering": "no" };

export function eventResponse(stream: EventStream): Response {
  return new Response(stream.body, { headers: eventHeaders });
}

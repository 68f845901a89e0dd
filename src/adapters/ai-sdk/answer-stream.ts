import { type Chunk, chunksOf, startOf } from "./ui-chunks.ts";
import type { Message, Part } from "./ui-message.ts";

/** The stream of an answer as it is made. Those who read may come late (all is replayed) and leave (nothing stops). */
export class AnswerStream {
  readonly #before: Message;
  readonly #chunks: Chunk[] = [];
  #isOver = false;
  #wake = Promise.withResolvers<void>();

  /** @param before the message as it was when this began. */
  constructor(before: Message) {
    this.#before = before;
  }

  add(chunk: Chunk): void {
    this.#chunks.push(chunk);
    this.#stir();
  }

  end(): void {
    this.#isOver = true;
    this.#stir();
  }

  /** @param known what the reader has of the message: only the rest is sent. */
  async *read(known: readonly Part[] = []): AsyncGenerator<Chunk, void, undefined> {
    yield startOf(this.#before);
    yield* chunksOf(this.#before.parts, known);
    for (let next = 0; ; ) {
      const chunk = this.#chunks[next];
      if (chunk !== undefined) {
        next++;
        yield chunk;
      } else if (this.#isOver) return;
      else await this.#wake.promise;
    }
  }

  #stir(): void {
    const { resolve } = this.#wake;
    this.#wake = Promise.withResolvers<void>();
    resolve();
  }
}

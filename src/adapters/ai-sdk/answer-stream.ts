import type { Chunk } from "./ui-chunks.ts";

/** The stream of an answer as it is made. Those who read may come late (all is replayed) and leave (nothing stops). */
export class AnswerStream {
  /** What the message had before: for those who have nothing of it. */
  readonly #before: readonly Chunk[];
  readonly #chunks: Chunk[] = [];
  readonly #start: Chunk;
  #isOver = false;
  #wake = Promise.withResolvers<void>();

  constructor(start: Chunk, before: readonly Chunk[]) {
    this.#start = start;
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

  /** @param whole with what the message had before: the reader has nothing of it. */
  async *read(whole: boolean): AsyncGenerator<Chunk, void, undefined> {
    yield this.#start;
    if (whole) yield* this.#before;
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

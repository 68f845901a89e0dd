import { styleText } from "node:util";
import { type Io, showProgress } from "./io.ts";

const frames = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏";
const frameMs = 100;

/**
 * Shows that something is awaited, and for how many seconds, in one line of a terminal that `stop` takes away.
 * Shows nothing anywhere else.
 */
export class Spinner {
  readonly #io: Io;
  readonly #isShown: boolean;
  #timer: NodeJS.Timeout | undefined;

  /** @param isDumb the terminal cannot go back in its line. */
  constructor(io: Io, isDumb: boolean) {
    this.#io = io;
    this.#isShown = !isDumb;
  }

  /** Begins to count. */
  start(): void {
    if (!this.#isShown) return;
    const startedMs = performance.now();
    let frame = 0;
    clearInterval(this.#timer);
    this.#timer = setInterval(() => {
      const seconds = Math.floor((performance.now() - startedMs) / 1_000);
      const sign = styleText("cyan", frames[frame++ % frames.length] ?? "", {
        stream: this.#io.errors,
      });
      showProgress(this.#io, `${sign} ${seconds} s`);
    }, frameMs);
  }

  /** Makes place for a line of its own; the next frame comes after it. */
  clear(): void {
    if (this.#timer !== undefined) showProgress(this.#io, "");
  }

  stop(): void {
    this.clear();
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}

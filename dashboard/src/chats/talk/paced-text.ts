const firstMs = 30;
const maxMs = 400;
/** Text of this length in characters waits one millisecond longer. */
const charsPerMs = 100;

/** Text as it comes, in steps that the page can keep up with: Markdown is made of all of it each time. */
export class PacedText {
  readonly #show: (text: string) => void;
  #waiting = "";
  #shown = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(show: (text: string) => void) {
    this.#show = show;
  }

  add(text: string): void {
    this.#waiting += text;
    if (this.#timer !== undefined) return;
    const waitMs = Math.min(maxMs, firstMs + this.#shown / charsPerMs);
    this.#timer = setTimeout(() => this.flush(), waitMs);
  }

  /** Shows what waits now. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const text = this.#waiting;
    this.#waiting = "";
    this.#shown += text.length;
    if (text !== "") this.#show(text);
  }

  /** Another text begins. */
  drop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#waiting = "";
    this.#shown = 0;
  }
}

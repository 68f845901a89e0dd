import { ThroughlineError } from "../core/errors.ts";

/** Bytes that all requests together may hold at a moment. */
export class Budget {
  #left: number;

  constructor(bytes: number) {
    this.#left = bytes;
  }

  /** Begins what one request holds. `add` throws `THROUGHLINE_BUSY` if all together would hold more. */
  hold() {
    let held = 0;
    const add = (bytes: number) => {
      if (bytes > this.#left) {
        const message = "the server holds as much as it may for other requests: try again";
        throw new ThroughlineError(message, { code: "THROUGHLINE_BUSY" });
      }
      this.#left -= bytes;
      held += bytes;
    };
    const release = () => {
      this.#left += held;
      held = 0;
    };
    return { add, release };
  }
}

/** What is held for the body of each request that arrives. */
export const arriving = new WeakMap<Request, ReturnType<Budget["hold"]>>();

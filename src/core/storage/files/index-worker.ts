import type { Worker } from "node:worker_threads";
import { awaited } from "../../timers.ts";
import type { Fault } from "./index-schema.ts";
import type { ThreadData, ThreadMessage, ThreadReport } from "./index-thread.ts";
import type { Asked } from "./index-writer.ts";

/** What became of a request: it is done, it was refused, or there is more to do. */
export type Answer = Fault | "again" | undefined;

interface ThreadListener {
  /** Something is not as the file knows it, or the file is of no use. */
  hear(report: Exclude<ThreadReport, { readonly answer: unknown }>): void;
  ended(): void;
}

/** The thread of an index, as the main thread has it. It is asked for one thing at a time. */
export class IndexWorker {
  readonly #worker: Worker;
  readonly #wake: Int32Array;
  #answer: (answer: Answer) => void = () => undefined;
  #isLeft = false;

  /** @throws an error of the system, which gives no more threads. */
  constructor(data: ThreadData, wake: Int32Array, listener: ThreadListener) {
    const { Worker: Thread } = process.getBuiltinModule("node:worker_threads"); // loading it takes 1 ms
    this.#wake = wake;
    this.#worker = new Thread(threadFile(), {
      name: "throughline-index",
      workerData: data,
      // Its objects are short-lived: a larger young generation takes memory and saves no time.
      resourceLimits: { maxYoungGenerationSizeMb: 8 },
    });
    this.#worker.on("message", (report: ThreadReport) => {
      if (this.#isLeft) return;
      if ("answer" in report) this.#answer(report.answer);
      else listener.hear(report);
    });
    const ended = () => {
      if (!this.#isLeft) listener.ended();
    };
    this.#worker.on("error", ended);
    this.#worker.on("exit", ended);
    this.#worker.unref(); // last: a listener holds the process. Who waits for an answer does too
  }

  tell(message: ThreadMessage): void {
    this.#worker.postMessage(message);
    Atomics.add(this.#wake, 0, 1);
    Atomics.notify(this.#wake, 0);
  }

  /** @returns `"again"`: it ended, and may have done a part of it. */
  perform(asked: Asked): Promise<Answer> {
    const { promise, resolve } = Promise.withResolvers<Answer>();
    this.#answer = resolve;
    this.tell(asked);
    return promise;
  }

  /** Has it close its file. */
  async end(): Promise<void> {
    const ended = new Promise((resolve) => this.#worker.once("exit", resolve));
    this.tell("end");
    await awaited(ended);
  }

  /** Hears nothing of it any more. It may still write for a moment, until this resolves. */
  async leave(): Promise<void> {
    this.#isLeft = true;
    this.#answer("again");
    await this.#worker.terminate();
  }
}

/** Beside this file in the sources; in a folder of its own in what is published. */
function threadFile(): URL {
  const isSource = import.meta.url.endsWith(".ts");
  return new URL(isSource ? "./index-thread.ts" : "../workers/index-thread.js", import.meta.url);
}

// The test runner follows every promise of its thread, which costs suites of many thousand short
// cases half of their time. What they do to each case runs in a thread of its own.
import { after } from "node:test";
import { Worker } from "node:worker_threads";

type Functions<M> = { [K in keyof M]: M[K] extends (...args: never[]) => unknown ? K : never };
type NameIn<M> = Functions<M>[keyof M] & string;
type Call<M, K extends keyof M> = M[K] extends (...args: infer A) => infer R
  ? { readonly args: A; readonly value: Awaited<R> }
  : never;

/** What the thread answers to a call. */
export interface Answer {
  readonly id: number;
  readonly value?: unknown;
  /** The error that the call ended with, as a text with its causes. */
  readonly failure?: string;
}

/**
 * Calls functions of a module, named by its path beside this file, in a thread of their own: one that
 * all calls share, until the tests of the file are over. What goes there and back is copied.
 */
export function apart<M>(
  path: string,
): <K extends NameIn<M>>(name: K, ...args: Call<M, K>["args"]) => Promise<Call<M, K>["value"]> {
  const worker = new Worker(new URL("apart-thread.ts", import.meta.url), {
    workerData: new URL(path, import.meta.url).href,
  });
  after(() => worker.terminate());
  const calls = new Map<number, PromiseWithResolvers<unknown>>();
  let count = 0;
  /** What ended the thread: nothing that is asked of it later is answered. */
  let broken: unknown;
  worker.on("message", ({ id, value, failure }: Answer) => {
    if (failure === undefined) calls.get(id)?.resolve(value);
    else calls.get(id)?.reject(new Error(failure));
    calls.delete(id);
  });
  worker.on("error", (error) => {
    broken = error;
    for (const call of calls.values()) call.reject(error);
  });
  return (name, ...args) => {
    if (broken !== undefined) return Promise.reject(broken);
    const call = Promise.withResolvers<unknown>();
    const id = ++count;
    calls.set(id, call);
    worker.postMessage({ id, name, args });
    return call.promise as Promise<never>;
  };
}

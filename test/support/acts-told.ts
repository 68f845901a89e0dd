// What a process that acts on logs said, and whether a home holds it.
import assert from "node:assert/strict";
import type { ChildProcess } from "node:child_process";
import fs from "node:fs";
import { join } from "node:path";
import { Child } from "./command-line.ts";
import { killChild } from "./killed.ts";
import { openRealHome } from "./real-home.ts";
import { type Act, type LogModel, logAfter, textOf, wordsOf } from "./storage-workload.ts";

interface Said {
  readonly opened?: true;
  readonly begun?: Act;
  readonly done?: Act;
  readonly closed?: true;
  readonly stays?: true;
}

/** Which acts, how many in each queue, and in how many queues at once. */
type Order = readonly [seed: number, acts: number, queues: number, stay?: "stay"];

/** How far each log was at a moment: acts of it that were begun, and that were done. */
export type Progress = ReadonlyMap<string, { readonly begun: number; readonly done: number }>;

/** The acts of one log, in order. */
interface LogActs {
  readonly acts: Act[];
  done: number;
}

/** A process that acts on a home, and all that it said. Its lines lie outside of the disk that it writes. */
export class ActsTold {
  readonly child: ChildProcess;
  readonly ended: Promise<unknown>;
  hasOpened = false;
  isClosed = false;
  readonly #running: Child;
  readonly #logs: Map<string, LogActs>;
  #rest = "";
  readonly #opened = Promise.withResolvers<void>();
  readonly #stays = Promise.withResolvers<void>();

  /**
   * @param command what starts Node, or a program that starts it.
   * @param earlier what a process before it did to the same home.
   */
  constructor(
    home: string,
    order: Order,
    command: readonly string[] = [process.execPath],
    earlier?: ActsTold,
  ) {
    this.#logs = new Map(earlier?.settled());
    const [start = "", ...before] = command;
    const args = [...before, killChild, "acts", home, ...order.map(String)];
    const { NODE_OPTIONS: _, NODE_TEST_CONTEXT: __, NODE_COMPILE_CACHE: ___, ...env } = process.env;
    const options = { env: { ...env, UV_THREADPOOL_SIZE: "1" } };
    this.#running = new Child(undefined, start, args, options);
    this.child = this.#running.child;
    this.child.stdout?.setEncoding("utf8").on("data", (text: string) => this.#hear(text));
    this.ended = this.#running.ended("");
    void this.ended.then(() => {
      this.#opened.resolve();
      this.#stays.resolve();
    });
  }

  get errors(): string {
    return this.#running.err.text;
  }

  /** Resolves when it has opened its home, or has ended. */
  get opened(): Promise<void> {
    return this.#opened.promise;
  }

  /** Resolves when it did everything and waits to be killed, or has ended. */
  get stays(): Promise<void> {
    return this.#stays.promise;
  }

  /** How many acts were done. */
  get done(): number {
    return [...this.#logs.values()].reduce((sum, { done }) => sum + done, 0);
  }

  /** How far it is now, as far as its lines arrived. */
  progress(): Progress {
    const all = [...this.#logs].map(
      ([key, { acts, done }]) => [key, { begun: acts.length, done }] as const,
    );
    return new Map(all);
  }

  /** Takes for done what a home that was checked holds. For a process that continues there. */
  settled(): [string, LogActs][] {
    return [...this.#logs].map(([key, { acts, done }]) => {
      assert.equal(
        acts.length,
        done,
        "a process was killed in an act: its home cannot be continued",
      );
      return [key, { acts: [...acts], done }];
    });
  }

  /**
   * Opens a home and checks it: each log holds what was done before `from`, perhaps what was begun until
   * `to`, and nothing else; forgotten words are in no file; and it can be written to.
   */
  async check(
    home: string,
    from: Progress = this.progress(),
    to: Progress = this.progress(),
    returns?: string,
  ): Promise<void> {
    const forgotten: Buffer[] = [];
    const allowed = new Map<string, LogModel[]>();
    for (const [key, { acts }] of this.#logs) {
      const least = from.get(key)?.done ?? 0;
      const most = to.get(key)?.begun ?? 0;
      let log: LogModel = [];
      const states: LogModel[] = least === 0 ? [log] : [];
      for (const [i, act] of acts.slice(0, most).entries()) {
        if (i < least) forgotten.push(...forgottenIn(log, act).map(wordsOf));
        log = logAfter(log, act);
        if (i + 1 >= least) states.push(log);
      }
      allowed.set(key, states);
    }
    assertGone(home, forgotten, returns);
    const { storage, logs } = await openRealHome(home);
    try {
      // A list waits until the index knows of every deletion that was cut short.
      const { rows } = await logs.list({ limit: 100 });
      for (const { key } of rows) assert.ok(allowed.has(key), `${key} was never written`);
      for (const [key, states] of allowed) {
        const records = await Array.fromAsync(logs.read(key));
        const found: LogModel = records.map((record) => {
          const erased = record["kind"] === "erased";
          if (!erased)
            assert.equal(record["content"], textOf(record.id), "half a record, or another");
          return { id: record.id, erased };
        });
        assert.ok(
          states.some((state) => JSON.stringify(state) === JSON.stringify(found)),
          `${key} holds ${JSON.stringify(found)}, not ${JSON.stringify(states[0])}`,
        );
      }
      for (const key of allowed.keys()) await logs.append(key, [{ id: "later", content: "later" }]);
    } finally {
      await storage.close();
    }
    assertGone(home, forgotten);
  }

  #hear(text: string): void {
    const lines = (this.#rest + text).split("\n");
    this.#rest = lines.pop() ?? "";
    for (const line of lines) {
      const { opened, begun, done, closed, stays } = JSON.parse(line) as Said;
      if (opened) this.hasOpened = true;
      if (opened) this.#opened.resolve();
      if (stays) this.#stays.resolve();
      if (begun) this.#of(begun.key).acts.push(begun);
      if (done) this.#of(done.key).done++;
      if (closed) this.isClosed = true;
    }
  }

  #of(key: string): LogActs {
    const known = this.#logs.get(key) ?? { acts: [], done: 0 };
    this.#logs.set(key, known);
    return known;
  }
}

function forgottenIn(log: LogModel, act: Act): readonly string[] {
  if (act.do === "append") return [];
  const ids = log.map(({ id }) => id);
  return act.do === "delete" ? ids : ids.filter((id) => id === act.id);
}

function assertGone(home: string, words: readonly Buffer[], returns?: string): void {
  for (const entry of fs.readdirSync(home, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || (returns !== undefined && entry.name.endsWith(returns))) continue;
    const path = join(entry.parentPath, entry.name);
    const bytes = fs.readFileSync(path);
    for (const each of words) assert.ok(!bytes.includes(each), `${each} is still in ${path}`);
  }
}

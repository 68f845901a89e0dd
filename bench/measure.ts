import {
  closeSync,
  fdatasync,
  fdatasyncSync,
  mkdtempSync,
  openSync,
  rmSync,
  write,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { chatProjection, newHead } from "../src/core/chat/chat-head.ts";
import { openFileStorage } from "../src/core/storage/files/open-file-storage.ts";
import type { Durability } from "../src/core/storage/storage.ts";
import { type Random, seededRandom } from "../src/testing/random.ts";

/** The middle of the samples: a noisy neighbour moves it least. */
export function median(samples: readonly number[]): number {
  const sorted = [...samples].sort((a, b) => a - b);
  return sorted[sorted.length >> 1] ?? Number.NaN;
}

export function percentile(samples: readonly number[], share: number): number {
  const sorted = [...samples].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

/** Runs the contenders `rounds` times, and gives each one's median in milliseconds. */
export async function interleaved<K extends string>(
  rounds: number,
  contenders: Readonly<Record<K, () => Promise<void> | void>>,
): Promise<Record<K, number>> {
  const names = Object.keys(contenders) as K[];
  const samples = Object.fromEntries(names.map((name) => [name, [] as number[]])) as Record<
    K,
    number[]
  >;
  const random = seededRandom(1);
  for (let round = 0; round < rounds; round++) {
    // Each round in an order of its own, so that none always runs in the wake of the same other.
    for (const name of shuffled(names, random)) {
      const started = performance.now();
      await contenders[name]();
      samples[name].push(performance.now() - started);
    }
  }
  return Object.fromEntries(names.map((name) => [name, median(samples[name])])) as Record<
    K,
    number
  >;
}

function shuffled<T>(items: readonly T[], random: Random): readonly T[] {
  const left = [...items];
  return items.map(() => left.splice(random(left.length), 1)[0] as T);
}

/** A directory on the disk that the project lies on: /tmp is often memory. */
export function scratch(): { readonly path: string; remove(): void } {
  const path = mkdtempSync(join(process.cwd(), "bench", ".scratch-"));
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}

const at = "2026-03-01T12:00:00.000Z";
/** A head as a chat has it after some turns. */
export const head = {
  ...newHead(at),
  title: "Tell me about the whales in the north",
  message_count: 1_000,
  session: {
    ...{
      generation: 1,
      started_at: at,
      start_seq: 0,
      human_at: at,
      provider: "ollama",
      model: "qwen3",
    },
    provider_sessions: {
      ollama: {
        session_id: "",
        message_count: 500,
        total_cost_usd: 0,
        total_tokens: 61_234,
        generation: 1,
      },
    },
  },
};

let count = 0;
/** What the end of a turn appends: an answer of some 500 bytes and the usage. */
export function turnRecords() {
  const id = `t${(++count).toString(36).padStart(8, "0")}`;
  const content = `${id} ${"the grey whale swims from the north to the warm bays each winter ".repeat(8)}`;
  return [
    {
      id: `${id}:answer`,
      role: "assistant",
      content,
      timestamp: at,
      turn: id,
      provider: "ollama",
      model: "qwen3",
    },
    {
      id: `${id}:usage`,
      _type: "metadata",
      kind: "usage",
      timestamp: at,
      turn: id,
      ...{
        provider: "ollama",
        model: "qwen3",
        messages: 1,
        cost_usd: 0,
        tokens: 312,
        outcome: "answered",
      },
      generation: 1,
      bucket_generation: 1,
    },
  ];
}

export async function openLogs(home: string, durability: Durability = "power-cut") {
  const storage = await openFileStorage({ home, durability });
  return { storage, logs: storage.logs("chats", chatProjection) };
}
export type Logs = Awaited<ReturnType<typeof openLogs>>["logs"];

export const appendTurn = (logs: Logs, key: string) => logs.append(key, turnRecords(), { head });

/** Turns as a chat appends them: each on the condition that the log still ends where the last one ended. */
export function expectedTurns(logs: Logs): (key: string) => Promise<void> {
  const ends = new Map<string, number>();
  return async (key) => {
    const expectedSeq = ends.get(key) ?? 0;
    ends.set(key, await logs.append(key, turnRecords(), { head, expectedSeq }));
  };
}

/** Fills a chat up to so many messages, in batches. */
export async function fill(logs: Logs, key: string, messages: number): Promise<void> {
  for (let done = 0; done < messages; ) {
    const batch = Array.from(
      { length: Math.min(250, messages - done) },
      () => turnRecords()[0] ?? { id: "" },
    );
    await logs.append(key, batch, { head });
    done += batch.length;
  }
}

/** One write and one fdatasync, without blocking the loop: what a durable append cannot go below. */
export class RawFile {
  readonly #fd: number;
  #position = 0;
  constructor(path: string) {
    this.#fd = openSync(path, "w");
  }
  write(bytes: Uint8Array, sync: boolean): Promise<void> {
    const position = this.#position;
    this.#position += bytes.length;
    return new Promise((resolve, reject) => {
      write(this.#fd, bytes, 0, bytes.length, position, (error) => {
        if (error) reject(error);
        else if (sync) fdatasync(this.#fd, (failed) => (failed ? reject(failed) : resolve()));
        else resolve();
      });
    });
  }
  writeBlocking(bytes: Uint8Array): void {
    writeSync(this.#fd, bytes, 0, bytes.length, this.#position);
    this.#position += bytes.length;
    fdatasyncSync(this.#fd);
  }
  close(): void {
    closeSync(this.#fd);
  }
}

/** A hand-written table with synchronous FULL: what people write who do not want to think about it. */
export function sqliteTable(database: DatabaseSync): () => void {
  database.exec("pragma journal_mode = wal; pragma synchronous = full");
  database.exec(
    "create table messages (chat text, seq integer, json text, primary key (chat, seq))",
  );
  database.exec("create table heads (chat text primary key, json text)");
  const insert = database.prepare("insert into messages values (?, ?, ?)");
  const put = database.prepare("insert or replace into heads values (?, ?)");
  let seq = 0;
  return () => {
    database.exec("begin");
    for (const record of turnRecords()) insert.run("a", ++seq, JSON.stringify(record));
    put.run("a", JSON.stringify(head));
    database.exec("commit");
  };
}

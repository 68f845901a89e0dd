// The records of a turn as a driver stores them, and contenders one operation at a time: for the figures of
// PostgreSQL and of moments.
import { newHead } from "../src/core/chat/chat-head.ts";
import type { LogStore } from "../src/core/storage/log-store.ts";
import { seededRandom } from "../src/testing/random.ts";
import { turn } from "./product.ts";
import { median } from "./samples.ts";
import { shuffled } from "./slices.ts";

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
const nextId = () => `t${(++count).toString(36).padStart(8, "0")}`;
/** What the end of a turn appends: an answer of some 500 bytes and the usage. */
export function turnRecords() {
  const id = nextId();
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

type Logs = Pick<LogStore, "append">;

export const appendTurn = (logs: Logs, key: string) => logs.append(key, turnRecords(), { head });

/** Messages as a chat stores them: each turn on the condition that the log still ends where the last one ended. */
export function expectedTurns(logs: Logs): (key: string) => Promise<void> {
  const ends = new Map<string, number>();
  return async (key) => {
    const expectedSeq = ends.get(key) ?? 0;
    const records = turn().map((message) => ({ id: nextId(), timestamp: at, ...message }));
    ends.set(key, await logs.append(key, records, { head, expectedSeq, hasNewIds: true }));
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

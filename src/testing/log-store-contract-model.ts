import assert from "node:assert/strict";
import { type ErrorCode, isThroughlineError } from "../core/errors.ts";
import type { AppendOptions, LogHead, LogRecord, LogStore } from "../core/storage/log-store.ts";
import { type Clause, clauseWithTable } from "./contract.ts";
import {
  erased,
  everything,
  found,
  listed,
  message,
  withLogs,
} from "./log-store-contract-fixtures.ts";
import { type Random, seededRandom } from "./random.ts";

// Method: a log is a plain array. Random calls go to the store and to arrays, few ids and few keys
// so that they often meet; every answer and everything that can be read must agree. A failure names
// its seed, and the same seed makes the same calls.

/** A log as the contract means it; a record without content was erased. */
class ModelLog {
  readonly records: { readonly id: string; content: string | undefined }[] = [];
  head: LogHead = {};

  /** The seq that an append answers, or the codes with which it may be refused. */
  append(batch: readonly LogRecord[], { expectedSeq, head }: AppendOptions): Outcome {
    const codes: ErrorCode[] = [];
    const missing = batch.filter((record) => this.#at(record.id) === undefined);
    const differs = (record: LogRecord) => {
      const content = this.#at(record.id)?.content;
      return content !== undefined && content !== record["content"];
    };
    if (batch.some(differs)) codes.push("THROUGHLINE_ID_CONFLICT");
    const isElsewhere = expectedSeq !== undefined && expectedSeq !== this.records.length;
    if (isElsewhere && missing.length > 0) codes.push("THROUGHLINE_CONFLICT");
    if (codes.length > 0) return { codes };
    for (const { id, content } of missing) this.records.push({ id, content: String(content) });
    if (missing.length > 0 && head !== undefined) this.head = head;
    return { seq: this.records.findIndex(({ id }) => id === batch.at(-1)?.id) + 1 };
  }

  erase(ids: readonly string[]): number {
    const concerned = this.records.filter(
      ({ id, content }) => content !== undefined && ids.includes(id),
    );
    for (const record of concerned) record.content = undefined;
    return concerned.length;
  }

  stored() {
    return this.records.map(({ id, content }, index) =>
      content === undefined ? erased(id, index + 1) : { ...message(id, content), seq: index + 1 },
    );
  }

  /** The ids of the records whose content is this word, newest first. */
  found(word: string): string[] {
    const hits = this.records.filter(({ content }) => content === word);
    return hits.map(({ id }) => id).reverse();
  }

  #at(id: string) {
    return this.records.find((record) => record.id === id);
  }
}

type Outcome = { readonly seq: number } | { readonly codes: readonly ErrorCode[] };

const keys = ["a", "b", "a:b"] as const;
const contents = ["tea", "milk"] as const;

function pick<T>(items: readonly [T, ...T[]], random: Random): T {
  return items[random(items.length)] ?? items[0];
}

function randomIds(random: Random): string[] {
  const ids = Array.from({ length: 1 + random(3) }, () => `m${random(12)}`);
  return [...new Set(ids)];
}

function randomAppend(random: Random): readonly [LogRecord[], AppendOptions] {
  const batch = randomIds(random).map((id) => {
    // Mostly one content per id, so that retries are common and conflicts are there.
    return message(id, random(8) === 0 ? pick(contents, random) : "tea");
  });
  return [
    batch,
    {
      ...(random(3) === 0 ? { expectedSeq: random(8) } : {}),
      ...(random(3) === 0 ? { head: { updated_at: `2026-03-0${1 + random(9)}` } } : {}),
    },
  ];
}

async function outcomeOf(call: Promise<number>, expected: Outcome): Promise<Outcome> {
  try {
    return { seq: await call };
  } catch (error) {
    const allowed = "codes" in expected ? expected.codes : [];
    if (allowed.some((code) => isThroughlineError(error, code))) return expected;
    throw error;
  }
}

async function agree(log: LogStore, models: ReadonlyMap<string, ModelLog>, seed: string) {
  for (const key of keys) {
    const model = models.get(key) ?? new ModelLog();
    const stored = model.stored();
    assert.deepEqual(await everything(log, key), stored, seed);
    for (const word of contents) {
      assert.deepEqual(await found(log, word, key), model.found(word), seed);
    }
    const newest = await log.page(key, { limit: 5, isShared: true });
    assert.deepEqual(newest, stored.slice(-5), seed);
    const tail = await log.tail(key, 3);
    if (stored.length === 0) assert.equal(tail, undefined, seed);
    else {
      const { seq, head, records } = tail ?? { seq: 0 };
      assert.deepEqual([seq, head, records], [stored.length, model.head, stored.slice(-3)], seed);
    }
  }
  const present = keys.filter((key) => (models.get(key)?.records.length ?? 0) > 0);
  const instant = (key: string) => String(models.get(key)?.head["updated_at"] ?? "");
  const order = [...present].sort((a, b) =>
    instant(a) === instant(b) ? (a < b ? -1 : 1) : instant(a) > instant(b) ? -1 : 1,
  );
  assert.deepEqual(await listed(log), order, seed);
}

function modelOf(models: Map<string, ModelLog>, key: string): ModelLog {
  const model = models.get(key) ?? new ModelLog();
  models.set(key, model);
  return model;
}

async function oneAfterTheOther(log: LogStore, seed: number): Promise<void> {
  const random = seededRandom(seed);
  const models = new Map<string, ModelLog>();
  for (let step = 1; step <= 40; step++) {
    const name = `seed ${seed}, step ${step}`;
    const key = pick(keys, random);
    const model = modelOf(models, key);
    const kind = random(10);
    if (kind === 0) {
      assert.equal(await log.delete(key), model.records.length > 0, name);
      models.delete(key);
    } else if (kind === 1) {
      const ids = randomIds(random);
      assert.equal(await log.erase(key, ids), model.erase(ids), name);
    } else {
      const [batch, options] = randomAppend(random);
      const expected = model.append(batch, options);
      const outcome = await outcomeOf(log.append(key, batch, options), expected);
      assert.deepEqual(outcome, expected, name);
    }
    if (step % 4 === 0) await agree(log, models, name);
  }
}

async function allAtOnce(log: LogStore, seed: number): Promise<void> {
  const random = seededRandom(seed);
  const models = new Map<string, ModelLog>();
  const calls = Array.from({ length: 40 }, () => {
    const key = pick(keys, random);
    const [batch, options] = randomAppend(random);
    const expected = modelOf(models, key).append(batch, options);
    return { expected, outcome: outcomeOf(log.append(key, batch, options), expected) };
  });
  const outcomes = await Promise.all(calls.map((call) => call.outcome));
  assert.deepEqual(
    outcomes,
    calls.map((call) => call.expected),
    `seed ${seed}`,
  );
  await agree(log, models, `seed ${seed}`);
}

const seeds = [1, 2, 3, 4, 5, 6, 7, 8];

/** Random calls against plain arrays. */
export const modelClauses: readonly Clause[] = [
  clauseWithTable(
    "40 random calls, one after the other, answer as plain arrays do",
    seeds,
    (seed) => withLogs((log) => oneAfterTheOther(log, seed)),
  ),
  clauseWithTable("40 random appends at once answer as if they had come in turn", seeds, (seed) =>
    withLogs((log) => allAtOnce(log, seed)),
  ),
];

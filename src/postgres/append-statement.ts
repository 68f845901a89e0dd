// The one statement of an append. Parameters 1 to 3 are the companion, the collection and the key.
import type { IndexedBatch, IndexedRecord } from "./indexed-batch.ts";
import type { LogTarget } from "./locked-log.ts";
import type { PostgresAnswer, PostgresStatement } from "./pool.ts";

/** What the text depends on: nothing is sent, and nothing decided, that the batch does not need. */
interface AppendShape {
  /** `undefined`: more than have a statement of their own. */
  readonly count: number | undefined;
  /** A log that must be there is updated, otherwise it may also be made. */
  readonly mayCreate: boolean;
  readonly replacesHead: boolean;
  readonly expectsSeq: boolean;
  readonly hasEpoch: boolean;
}

/** Batches of up to so many records have a statement of their own, whose plan is made once. */
const mostPlain = 8;

/** By the number of their shape. */
const statements = new Map<number, { readonly name: string; readonly text: string }>();

/**
 * Appends these records. A row that is only a lease becomes a log. `appendedSeq` reads what it answers:
 * no more than has to be said, which takes a tenth of the time.
 */
export function appendStatement(
  { place, epoch }: LogTarget,
  batch: IndexedBatch,
): PostgresStatement {
  const { records, head, expectedSeq } = batch;
  const shape: AppendShape = {
    count: records.length > mostPlain ? undefined : records.length,
    mayCreate: epoch === undefined && (expectedSeq ?? 0) === 0,
    replacesHead: batch.replacesHead,
    expectsSeq: expectedSeq !== undefined,
    hasEpoch: epoch !== undefined,
  };
  const values: unknown[] = [...place, head.json, head.sortedAt, head.labels];
  if (expectedSeq !== undefined) values.push(expectedSeq);
  if (epoch !== undefined) values.push(epoch);
  pushRecords(values, records, shape);
  const { name, text } = statementOf(shape);
  return { name, text, values };
}

/** The seq of the last record that an append stored; `undefined` when it stored nothing. */
export function appendedSeq(
  { expectedSeq, records }: IndexedBatch,
  { rows, rowCount }: PostgresAnswer,
): number | undefined {
  const row = rows.at(-1);
  if (row !== undefined) return Number(row["seq"]);
  if (expectedSeq === undefined || rowCount !== records.length) return undefined;
  return expectedSeq + records.length;
}

function pushRecords(
  values: unknown[],
  records: readonly IndexedRecord[],
  { count }: AppendShape,
): void {
  if (count !== undefined) {
    for (const { id, json, hides, words } of records) values.push(id, json, hides, words);
    return;
  }
  values.push(records.map(({ id }) => id));
  values.push(records.map(({ json }) => json));
  values.push(records.map(({ hides }) => hides));
  values.push(records.map(({ words }) => words));
  values.push(records.length);
}

/** The statement of this shape, made once. */
function statementOf(shape: AppendShape): { readonly name: string; readonly text: string } {
  const { mayCreate, replacesHead, expectsSeq, hasEpoch } = shape;
  // Added up, not joined: this is done for every append.
  const number =
    (shape.count ?? 0) * 16 +
    (mayCreate ? 8 : 0) +
    (replacesHead ? 4 : 0) +
    (expectsSeq ? 2 : 0) +
    (hasEpoch ? 1 : 0);
  const known = statements.get(number);
  if (known !== undefined) return known;
  const made = { name: `throughline_append_${number}`, text: textOf(shape) };
  statements.set(number, made);
  return made;
}

function textOf(shape: AppendShape): string {
  let last = 6;
  const next = (type: string) => `$${++last}::${type}`;
  const expected = shape.expectsSeq ? next("bigint") : undefined;
  const epoch = shape.hasEpoch ? next("bigint") : undefined;
  const rows = rowsOf(shape.count, next);
  const count = shape.count === undefined ? next("bigint") : String(shape.count);
  const conditions = [
    ...(shape.mayCreate ? [] : ["old.companion = $1", "old.collection = $2", "old.key = $3"]),
    ...(expected === undefined ? [] : [`old.seq = ${expected}`]),
    ...(epoch === undefined ? [] : [`old.epoch = ${epoch}`]),
  ];
  const set = setText(shape, count);
  const insert = `insert into throughline.records
    (companion, collection, key, seq, id, body, hides, words)
  select $1, $2, $3, log.seq - ${count} + each.n, id, body, hides, words::tsvector
  from log, ${rows} as each (id, body, hides, words, n)`;
  return `with log as (
  ${shape.mayCreate ? createText(count, set) : `update throughline.logs as old set ${set}`}
  ${conditions.length === 0 ? "" : `where ${conditions.join(" and ")}`} returning seq
)${shape.expectsSeq ? ` ${insert}` : `, stored as (${insert}) select seq from log`}`;
}

function createText(count: string, set: string): string {
  return `insert into throughline.logs as old
    (companion, collection, key, seq, head, sorted_at, labels)
  values ($1, $2, $3, ${count}, $4, $5, $6::text[])
  on conflict (companion, collection, key) do update set ${set}`;
}

function setText({ replacesHead }: AppendShape, count: string): string {
  const head = (column: string, value: string) =>
    `${column} = ${replacesHead ? value : `case when old.seq = 0 then ${value} else old.${column} end`}`;
  return [
    `seq = old.seq + ${count}`,
    ...[head("head", "$4"), head("sorted_at", "$5"), head("labels", "$6::text[]")],
  ].join(", ");
}

/** One list of rows where their number is known, otherwise an array for each column. */
function rowsOf(count: number | undefined, next: (type: string) => string): string {
  const four = (type: string) => Array.from({ length: 4 }, () => next(type)).join(", ");
  if (count === undefined) return `unnest(${four("text[]")}) with ordinality`;
  const rows = Array.from({ length: count }, (_, i) => `(${four("text")}, ${i + 1})`);
  return `(values ${rows.join(", ")})`;
}

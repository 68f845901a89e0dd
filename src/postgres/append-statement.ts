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
  readonly isLabelled: boolean;
  readonly hasWords: boolean;
  readonly expectsSeq: boolean;
  readonly hasEpoch: boolean;
  readonly hides: boolean;
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
    isLabelled: head.labels.length > 0,
    hasWords: records.some(({ words }) => words !== null),
    expectsSeq: expectedSeq !== undefined,
    hasEpoch: epoch !== undefined,
    hides: records.some(({ hides }) => hides !== null),
  };
  const values: unknown[] = [...place, head.json, head.sortedAt];
  if (shape.isLabelled) values.push(head.labels);
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
  { count, hides, hasWords }: AppendShape,
): void {
  if (count === undefined) {
    values.push(records.map(({ id }) => id));
    values.push(records.map(({ json }) => json));
    if (hides) values.push(records.map((record) => record.hides));
    if (hasWords) values.push(records.map(({ words }) => words));
    values.push(records.length);
    return;
  }
  for (const record of records) {
    values.push(record.id, record.json);
    if (hides) values.push(record.hides);
    if (hasWords) values.push(record.words);
  }
}

/** The statement of this shape, made once. */
function statementOf(shape: AppendShape): { readonly name: string; readonly text: string } {
  const { mayCreate, replacesHead, isLabelled, hasWords, expectsSeq, hasEpoch, hides } = shape;
  // Added up, not joined: this is done for every append.
  const number =
    (shape.count ?? 0) * 128 +
    (mayCreate ? 64 : 0) +
    (replacesHead ? 32 : 0) +
    (isLabelled ? 16 : 0) +
    (hasWords ? 8 : 0) +
    (expectsSeq ? 4 : 0) +
    (hasEpoch ? 2 : 0) +
    (hides ? 1 : 0);
  const known = statements.get(number);
  if (known !== undefined) return known;
  const made = { name: `throughline_append_${number}`, text: textOf(shape) };
  statements.set(number, made);
  return made;
}

function textOf(shape: AppendShape): string {
  let last = 5;
  const next = (type: string) => `$${++last}::${type}`;
  const labels = shape.isLabelled ? next("text[]") : "'{}'";
  const expected = shape.expectsSeq ? next("bigint") : undefined;
  const epoch = shape.hasEpoch ? next("bigint") : undefined;
  const columns = ["id", "body"];
  if (shape.hides) columns.push("hides");
  if (shape.hasWords) columns.push("words");
  const rows = rowsOf(shape.count, columns, next);
  const count = shape.count === undefined ? next("bigint") : String(shape.count);
  const conditions = [
    ...(shape.mayCreate ? [] : ["old.companion = $1", "old.collection = $2", "old.key = $3"]),
    ...(expected === undefined ? [] : [`old.seq = ${expected}`]),
    ...(epoch === undefined ? [] : [`old.epoch = ${epoch}`]),
  ];
  const set = setText(shape, count, labels);
  const insert = `insert into throughline.records (companion, collection, key, seq, ${columns.join(", ")})
  select $1, $2, $3, log.seq - ${count} + each.n, ${columns.map(columnValue).join(", ")}
  from log, ${rows} as each (${columns.join(", ")}, n)`;
  return `with log as (
  ${shape.mayCreate ? createText(count, labels, set) : `update throughline.logs as old set ${set}`}
  ${conditions.length === 0 ? "" : `where ${conditions.join(" and ")}`} returning seq
)${shape.expectsSeq ? ` ${insert}` : `, stored as (${insert}) select seq from log`}`;
}

const columnValue = (column: string) =>
  column === "words" ? "each.words::tsvector" : `each.${column}`;

function createText(count: string, labels: string, set: string): string {
  return `insert into throughline.logs as old
    (companion, collection, key, seq, head, sorted_at, labels)
  values ($1, $2, $3, ${count}, $4, $5, ${labels})
  on conflict (companion, collection, key) do update set ${set}`;
}

function setText({ replacesHead }: AppendShape, count: string, labels: string): string {
  const head = (column: string, value: string) =>
    `${column} = ${replacesHead ? value : `case when old.seq = 0 then ${value} else old.${column} end`}`;
  return [
    `seq = old.seq + ${count}`,
    ...[head("head", "$4"), head("sorted_at", "$5"), head("labels", labels)],
  ].join(", ");
}

/** One list of rows where their number is known, otherwise an array for each column. */
function rowsOf(
  count: number | undefined,
  columns: readonly string[],
  next: (type: string) => string,
): string {
  if (count === undefined) {
    return `unnest(${columns.map(() => next("text[]")).join(", ")}) with ordinality`;
  }
  const rows = Array.from({ length: count }, (_, i) => {
    return `(${columns.map(() => next("text")).join(", ")}, ${i + 1})`;
  });
  return `(values ${rows.join(", ")})`;
}

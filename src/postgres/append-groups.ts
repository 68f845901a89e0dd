import { setImmediate as nextTurn } from "node:timers/promises";
import { append, recordColumns } from "./append.ts";
import type { Begun, DriverContext } from "./database.ts";
import type { IndexedBatch } from "./indexed-batch.ts";
import type { LogTarget } from "./locked-log.ts";
import type { PostgresStatement } from "./pool.ts";

/** An append that waits for its group, or is in one. */
interface WaitingAppend extends WantedAppend {
  /** When it has to end. */
  readonly until: number;
  readonly resolve: (seq: number | Promise<number>) => void;
}

/** What one statement stores at most. A longer append goes alone, so that no other waits for it. */
const most = { appends: 32, records: 16, characters: 64 * 1024 } as const;

/** So long appends wait for those on their way; then they no longer wait for them. */
const patienceMs = 50;

/**
 * The appends to one collection. While one is on its way to the database, those that come gather, and
 * go together by one statement when it is back: the database then does the work of a statement and of
 * a commit once for all of them, which is most of its work. Each is still stored or refused by itself
 * and within its own deadline, and an append that comes alone goes at once. The log is never the same
 * in one group: the log store lets one append of a log through at a time.
 */
export class AppendGroups {
  readonly #context: DriverContext;
  readonly #collection: string;
  #waiting: WaitingAppend[] = [];
  /** What appends wait for: what was sent last, until it is back. */
  #newest: Promise<unknown> | undefined;
  #cancelPatience: (() => void) | undefined;

  constructor(context: DriverContext, collection: string) {
    this.#context = context;
    this.#collection = collection;
  }

  /** As `append`. */
  append(wanted: WantedAppend): Promise<number> {
    const { database, timers } = this.#context;
    if (!mayJoin(wanted)) return this.#alone(wanted);
    if (this.#newest === undefined) {
      const appending = this.#alone(wanted);
      this.#goAhead(appending);
      return appending;
    }
    const { promise, resolve } = Promise.withResolvers<number>();
    this.#waiting.push({ ...wanted, until: database.deadline(), resolve });
    // A connection that hangs delays only the calls that were sent over it.
    this.#cancelPatience ??= timers.after(patienceMs, () => this.#next());
    return promise;
  }

  #alone({ target, batch }: WantedAppend, begun?: Begun): Promise<number> {
    return append(this.#context.database, target, batch, begun);
  }

  /** This one is on its way now; who waits goes when it is back, however it ended. */
  #goAhead(going: Promise<unknown>): void {
    this.#newest = going;
    const isBack = () => {
      if (this.#newest === going) this.#next();
    };
    going.then(isBack, isBack);
  }

  /** Lets those go that wait. */
  #next(): void {
    this.#newest = undefined;
    this.#cancelPatience?.();
    this.#cancelPatience = undefined;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (let at = 0; at < waiting.length; at += most.appends) {
      const group = waiting.slice(at, at + most.appends);
      // Those that are answered together mostly come together again.
      this.#goAhead(this.#together(group).then(() => nextTurn()));
    }
  }

  /**
   * Sends these appends by one statement, once. Those that it passes over go alone, which finds out why;
   * all do when it was refused, which may be right for one of them; or when its outcome is unknown.
   */
  async #together(group: readonly WaitingAppend[]): Promise<void> {
    const { database, companion } = this.#context;
    const statement = appendGroupStatement(companion, this.#collection, group);
    const until = Math.min(...group.map((each) => each.until));
    const outcome = await database.once((connection) => connection.store(statement), until);
    const stored = "value" in outcome ? outcome.value.rows : [];
    const seqs = new Map(stored.map((row) => [Number(row["n"]), Number(row["seq"])]));
    const begun = "begun" in outcome ? outcome.begun : undefined;
    for (const [index, each] of group.entries()) {
      const rest = { until: each.until, isInDoubt: false, backends: [] };
      const seq = seqs.get(index + 1);
      each.resolve(seq ?? this.#alone(each, begun?.isInDoubt ? begun : rest));
    }
  }
}

/** One that hides another record is more than one statement. */
function mayJoin({ batch: { records } }: WantedAppend): boolean {
  if (records.length > most.records) return false;
  const characters = records.reduce((sum, { json }) => sum + json.length, 0);
  return characters <= most.characters && records.every(({ hides }) => hides === null);
}

// The one statement of several appends to one collection. Parameters 1 and 2 are the companion and the
// collection; 3 to 10 have an element for each append, 11 to 14 one for each record.

/** What one append wants. */
interface WantedAppend {
  readonly target: LogTarget;
  readonly batch: IndexedBatch;
}

/**
 * A log that is not there yet, does not end as expected, is held under another epoch or is being written is
 * passed over: no append waits for a log of another. Logs are looked up one by one, because a planner
 * that may join them, and knows no better, reads the whole collection. What is set is what the statement
 * of one append sets.
 */
const text = `with locked as (
  select wanted.*, log.place from unnest($3::text[], $4::bigint[], $5::bigint[], $6::bigint[],
    string_to_array($7::text, e'\\n', ''), $8::text[], $9::text[]) with ordinality
    as wanted (key, count, expected, epoch, head, sorted_at, labels, n)
  cross join lateral (
    select ctid as place from throughline.logs as old
    where old.companion = $1 and old.collection = $2 and old.key = wanted.key
      and old.seq > 0 and (wanted.expected is null or old.seq = wanted.expected)
      and (wanted.epoch is null or old.epoch = wanted.epoch)
    for update skip locked
  ) as log
), log as (
  update throughline.logs as old set seq = old.seq + locked.count,
    head = coalesce(locked.head, old.head),
    sorted_at = coalesce(locked.sorted_at, old.sorted_at),
    labels = coalesce(locked.labels::text[], old.labels)
  from locked where old.ctid = locked.place
  returning locked.n, old.key, old.seq, old.seq - locked.count as before
), stored as (
  insert into throughline.records (companion, collection, key, seq, id, body, words)
  select $1, $2, log.key, log.before + record.i, record.id, record.body, record.words::tsvector
  from log join unnest($10::bigint[], $11::bigint[], $12::text[], string_to_array($13::text, e'\\n'),
      string_to_array($14::text, e'\\n', ''))
    as record (n, i, id, body, words) on record.n = log.n
) select n::int, seq from log`;

/** Answers, for each append that it stored, its number from 1 and the seq of its last record. */
function appendGroupStatement(
  companion: string,
  collection: string,
  appends: readonly WantedAppend[],
): PostgresStatement {
  const heads = appends.map(({ batch }) => (batch.replacesHead ? batch.head : undefined));
  const records = appends.flatMap(({ batch }, append) =>
    batch.records.map((record, i) => ({ append: append + 1, i: i + 1, ...record })),
  );
  const values = [
    ...[companion, collection],
    appends.map(({ target }) => target.place[2]),
    appends.map(({ batch }) => batch.records.length),
    appends.map(({ batch }) => batch.expectedSeq ?? null),
    appends.map(({ target }) => target.epoch ?? null),
    heads.map((head) => head?.json ?? "").join("\n"),
    heads.map((head) => head?.sortedAt ?? null),
    heads.map((head) => (head === undefined ? null : arrayText(head.labels))),
    records.map(({ append }) => append),
    records.map(({ i }) => i),
    ...recordColumns(records),
  ];
  return { name: "throughline_append_group", text, values };
}

/** An array of texts as the database reads it: `unnest` takes none of arrays of different lengths. */
function arrayText(texts: readonly string[]): string {
  return `{${texts.map((each) => `"${each.replaceAll(/["\\]/g, "\\$&")}"`).join(",")}}`;
}

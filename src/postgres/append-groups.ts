import { setImmediate as nextTurn } from "node:timers/promises";
import { append } from "./append.ts";
import { appendGroupStatement, type WantedAppend } from "./append-group-statement.ts";
import type { Begun, DriverContext } from "./database.ts";
import { sqlState } from "./error-class.ts";

/** An append that waits for its group, or is in one. */
interface WaitingAppend extends WantedAppend {
  /** When it has to end. */
  readonly until: number;
  readonly resolve: (seq: number | Promise<number>) => void;
}

/** What one statement stores at most. A longer append goes alone, so that no other waits for it. */
const most = { appends: 32, records: 16, characters: 64 * 1024 } as const;

const featureNotSupported = "0A000";

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
  /** A database that keeps each log on a server of its own may not know such statements. */
  #isUnknown = false;

  constructor(context: DriverContext, collection: string) {
    this.#context = context;
    this.#collection = collection;
  }

  /** As `append`. */
  append(wanted: WantedAppend): Promise<number> {
    const { database, timers } = this.#context;
    if (this.#isUnknown || !mayJoin(wanted)) return this.#alone(wanted);
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
    if ("error" in outcome) this.#isUnknown ||= sqlState(outcome.error) === featureNotSupported;
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

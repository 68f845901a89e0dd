import { setImmediate as nextTurn } from "node:timers/promises";
import { isThroughlineError } from "../../errors.ts";
import type { Timers } from "../../timers.ts";
import { append, settle } from "./append.ts";
import { appendGroupStatement, type WantedAppend } from "./append-group-statement.ts";
import type { Connection } from "./connection.ts";
import type { Database } from "./database.ts";
import { errorClass, isAnswer, sqlState } from "./error-class.ts";

export interface AppendGroupPorts {
  readonly database: Database;
  readonly timers: Timers;
  readonly companion: string;
}

/** An append that waits for its group, or is in one. */
interface WaitingAppend extends WantedAppend {
  readonly resolve: (seq: number) => void;
  readonly reject: (error: unknown) => void;
}

/** What one statement stores at most. A longer append goes alone, so that it keeps nobody waiting. */
const most = { appends: 32, records: 16, characters: 64 * 1024 } as const;

const featureNotSupported = "0A000";

/** So long appends wait for the group before theirs; then they no longer wait for it. */
const patienceMs = 50;

/**
 * The appends to one collection. While one is on its way to the database, those that come gather, and
 * go together by one statement when it is back: the database then does the work of a statement and of
 * a commit once for all of them, which is most of its work. Each is still stored or refused by itself,
 * and an append that comes alone goes at once. The log is never the same in one group: its lane lets one
 * append through at a time.
 */
export class AppendGroups {
  readonly #ports: AppendGroupPorts;
  readonly #collection: string;
  #waiting: WaitingAppend[] = [];
  /** What appends wait for: what was sent last, until it is back. */
  #newest: Promise<unknown> | undefined;
  #cancelPatience: (() => void) | undefined;
  /** A database that keeps each log on a server of its own may not know such statements. */
  #isUnknown = false;

  constructor(ports: AppendGroupPorts, collection: string) {
    this.#ports = ports;
    this.#collection = collection;
  }

  /** As `append`. */
  append(wanted: WantedAppend): Promise<number> {
    if (this.#isUnknown || !mayJoin(wanted)) return this.#alone(wanted);
    if (this.#newest === undefined) {
      const appending = this.#alone(wanted);
      this.#goAhead(appending);
      return appending;
    }
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    this.#waiting.push({ ...wanted, resolve, reject });
    this.#bePatient();
    return promise;
  }

  #alone({ target, batch }: WantedAppend): Promise<number> {
    return append(this.#ports.database, target, batch);
  }

  /** This one is on its way now; who waits goes when it is back, however it ended. */
  #goAhead(going: Promise<unknown>): void {
    this.#newest = going;
    const isBack = () => {
      if (this.#newest === going) this.#next();
    };
    going.then(isBack, isBack);
  }

  /** Lets those go that wait, as many as fit. */
  #next(): void {
    this.#newest = undefined;
    this.#cancelPatience?.();
    this.#cancelPatience = undefined;
    const appends = this.#waiting.splice(0, most.appends);
    if (appends.length === 0) return;
    this.#goAhead(this.#together(appends).then(() => nextTurn()));
    if (this.#waiting.length > 0) this.#bePatient();
  }

  /** A connection that hangs costs those their time who sent something over it, and nobody else. */
  #bePatient(): void {
    this.#cancelPatience ??= this.#ports.timers.after(patienceMs, () => this.#next());
  }

  /** Settles each of these appends, or leaves it to go alone. Never rejects. */
  async #together(appends: readonly WaitingAppend[]): Promise<void> {
    const settled = new Map<WaitingAppend, () => void>();
    try {
      await this.#ports.database.attempt((connection, { isInDoubt }) =>
        isInDoubt
          ? settleEach(connection, appends, settled)
          : this.#store(connection, appends, settled),
      );
    } catch (error) {
      for (const each of appends) each.reject(error);
      return;
    }
    for (const each of appends) {
      const settle = settled.get(each);
      // Whatever stood against it, an append that goes alone finds out.
      if (settle === undefined) this.#alone(each).then(each.resolve, each.reject);
      else settle();
    }
  }

  /** One statement for all; those that it passes over are not settled, none if it is refused. */
  async #store(
    connection: Connection,
    appends: readonly WaitingAppend[],
    settled: Map<WaitingAppend, () => void>,
  ): Promise<void> {
    const { companion } = this.#ports;
    const statement = appendGroupStatement(companion, this.#collection, appends);
    const { rows } = await connection.store(statement).catch((error: unknown) => {
      if (!isRefusal(error)) throw error;
      this.#isUnknown ||= sqlState(error) === featureNotSupported;
      return { rows: [] };
    });
    for (const row of rows) {
      const each = appends[Number(row["n"]) - 1];
      if (each !== undefined) settled.set(each, () => each.resolve(Number(row["seq"])));
    }
  }
}

/** A group may have been stored or not: each append is looked for, and made good. */
async function settleEach(
  connection: Connection,
  appends: readonly WaitingAppend[],
  settled: Map<WaitingAppend, () => void>,
): Promise<void> {
  for (const each of appends) {
    if (settled.has(each)) continue;
    try {
      const seq = await settle(connection, each.target, each.batch, true);
      settled.set(each, () => each.resolve(seq));
    } catch (error) {
      if (!isThroughlineError(error)) throw error;
      settled.set(each, () => each.reject(error));
    }
  }
}

/** One that hides another record is more than one statement. */
function mayJoin({ batch: { records } }: WantedAppend): boolean {
  if (records.length > most.records) return false;
  const characters = records.reduce((sum, { json }) => sum + json.length, 0);
  return characters <= most.characters && records.every(({ hides }) => hides === null);
}

/** Whether the database refused what this group says, which may be right for one append alone. */
function isRefusal(error: unknown): boolean {
  if (!isAnswer(error)) return false;
  const kind = errorClass(error);
  return kind === "refuse" || kind === "surface";
}

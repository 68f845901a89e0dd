import { isThroughlineError } from "../core/errors.ts";
import type { LogRecord, LogStore, StoredRecord } from "../core/storage/log-store.ts";
import { type Act, actRecord, readAct } from "./acts.ts";
import type { Position } from "./companion-document.ts";

/** Where an act was read. `undefined`: a record that is erased, or not known here. */
interface ReadAct extends Position {
  readonly act: Act | undefined;
}

const prefix = "acts-";
const pageRecords = 200;

/**
 * The log of acts. It is a chain of logs, `acts-1`, `acts-2`, …, of which each but the last ends with the
 * name of the next: so that what a snapshot covers can be removed whole. Every append says where the log
 * must end, so that nothing is appended by a process that has not read what came before it, and nothing
 * behind the end of a log that is continued in another.
 */
export class ActLog {
  readonly #logs: LogStore;
  #position: Position;
  #hasOlder = true;

  private constructor(logs: LogStore, position: Position) {
    this.#logs = logs;
    this.#position = position;
  }

  /**
   * @param from where a snapshot was taken; it is begun at the beginning of that log.
   * @returns `undefined`: there is no log.
   */
  static async open(logs: LogStore, from: Position | undefined): Promise<ActLog | undefined> {
    const names = await namesIn(logs);
    const name = names.find((each) => each === from?.log) ?? names[0];
    return name === undefined ? undefined : new ActLog(logs, { log: name, seq: 0 });
  }

  /** Begins the first log with these acts, where there is none. */
  static async begin(logs: LogStore, acts: readonly Act[]): Promise<ActLog> {
    const log = `${prefix}1`;
    const seq = await logs.append(log, acts.map(actRecord), { expectedSeq: 0 });
    return new ActLog(logs, { log, seq });
  }

  get position(): Position {
    return this.#position;
  }

  /** What was appended since, in order. `undefined`: it was removed; start over from a snapshot. */
  async readOn(): Promise<readonly ReadAct[] | undefined> {
    const read: ReadAct[] = [];
    let position = this.#position;
    for (;;) {
      const { log, seq } = position;
      const tail = await this.#logs.tail(log, 0);
      if (tail === undefined || tail.seq < seq) return undefined;
      let next: string | undefined;
      for await (const record of this.#after(position, tail.seq)) {
        const act = readAct(record);
        position = { log, seq: record.seq };
        read.push({ ...position, act });
        if (act?.kind === "end") next = act.next;
      }
      if (next === undefined) break;
      position = { log: next, seq: 0 };
    }
    // Not before: what was read until a failure is read again.
    this.#position = position;
    return read;
  }

  /** Mostly one or two records: a page is enough. */
  async *#after({ log, seq }: Position, end: number): AsyncGenerator<StoredRecord> {
    if (seq === end) return;
    const page = await this.#logs.page(log, { after: seq, limit: pageRecords });
    yield* page;
    const last = page.at(-1)?.seq ?? end;
    if (last < end) yield* this.#logs.read(log, { after: last });
  }

  /** @returns whether they are in the log, right after what was read; if not, read on. */
  async append(acts: readonly Act[]): Promise<boolean> {
    const { log, seq } = this.#position;
    if (!(await this.#put(log, acts.map(actRecord), seq))) return false;
    this.#position = { log, seq: seq + acts.length };
    return true;
  }

  /**
   * Continues in a new log.
   *
   * @param first what that begins with: all that is not in a snapshot and must outlive the old log.
   * @returns whether it does; if not, somebody appended something: read on.
   */
  async continueWith(first: readonly Act[], end: (next: string) => Act): Promise<boolean> {
    const { log, seq } = this.#position;
    // One may be there already: of a leader that died before it named it, or is about to.
    let number = numberOf(log) + 1;
    while (!(await this.#put(`${prefix}${number}`, first.map(actRecord), 0))) number++;
    const next = `${prefix}${number}`;
    if (!(await this.#put(log, [actRecord(end(next))], seq))) return false;
    this.#position = { log: next, seq: first.length };
    this.#hasOlder = true;
    return true;
  }

  /** Removes the logs before the one at which a snapshot was taken: it covers them. */
  async removeOlder({ log }: Position): Promise<void> {
    if (!this.#hasOlder) return;
    for (const name of await namesIn(this.#logs)) {
      if (numberOf(name) < numberOf(log)) await this.#logs.delete(name);
    }
    this.#hasOlder = log !== this.#position.log;
  }

  async #put(log: string, records: readonly LogRecord[], seq: number): Promise<boolean> {
    try {
      // Records that are there already are not stored again: then it ends elsewhere.
      const last = await this.#logs.append(log, records, { expectedSeq: seq });
      return last === seq + records.length;
    } catch (error) {
      if (isThroughlineError(error, "THROUGHLINE_CONFLICT")) return false;
      throw error;
    }
  }
}

/** The acts that say which chat they are of. */
export async function* actsOfChats(
  logs: LogStore,
): AsyncGenerator<Act & { readonly chat: string }, void, undefined> {
  for (const log of await namesIn(logs)) {
    for await (const record of logs.read(log)) {
      const act = readAct(record);
      if (act !== undefined && "chat" in act) yield act;
    }
  }
}

/**
 * Erases what acts hold of a chat. Resolves when the bytes are gone.
 *
 * @returns how many messages those were that the snapshot at `covered` does not have.
 */
export async function eraseActs(
  logs: LogStore,
  chatId: string,
  covered: Position | undefined,
): Promise<number> {
  let messages = 0;
  for (const log of await namesIn(logs)) {
    const ids: string[] = [];
    for await (const record of logs.read(log)) {
      if (record["chat"] !== chatId) continue;
      ids.push(record.id);
      const isCovered = covered?.log === log && record.seq <= covered.seq;
      if (!isCovered && (record["kind"] === "said" || record["kind"] === "replied")) messages++;
    }
    if (ids.length > 0) await logs.erase(log, ids);
  }
  return messages;
}

/** Removes every log of acts. */
export async function removeActs(logs: LogStore): Promise<void> {
  for (const name of await namesIn(logs)) await logs.delete(name);
}

async function namesIn(logs: LogStore): Promise<readonly string[]> {
  const names: string[] = [];
  let cursor: string | undefined;
  do {
    const page = await logs.list(cursor === undefined ? { limit: 200 } : { limit: 200, cursor });
    names.push(...page.rows.map(({ key }) => key).filter((key) => numberOf(key) > 0));
    cursor = page.cursor;
  } while (cursor !== undefined);
  return names.sort((a, b) => numberOf(a) - numberOf(b));
}

/** 0: no log of acts. */
function numberOf(name: string): number {
  return Number(/^acts-([1-9]\d{0,14})$/.exec(name)?.[1] ?? 0);
}

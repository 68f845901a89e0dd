import type { Storage } from "../core/storage/storage.ts";

/** Opens a storage that is empty and that nothing else uses. */
export type Open = () => Promise<Storage>;

/** Closes this storage and opens the same place again, as the next process would. */
export type Reopen = (storage: Storage) => Promise<Storage>;

/** One promise of a contract: a test, a row of the documentation, and a line of the results. */
export interface Clause {
  /** Stable, dotted and unique in its contract, such as `log.retry.batch`. */
  readonly id: string;
  /** A sentence that is true of every driver. */
  readonly says: string;
  /** Present where the proof closes a storage and opens what it left. */
  readonly reopens?: true;
  /** Resolves if the promise is kept, rejects if it is not. Closes what it opened. */
  readonly proof: (open: Open, reopen: Reopen) => Promise<void>;
}

/** One promise with a table: the proof runs for each row, and a failure names its row. */
export function clauseWithTable<
  Row,
  Given extends readonly unknown[] = Parameters<Clause["proof"]>,
>(
  id: string,
  says: string,
  rows: readonly Row[],
  proof: (row: Row) => (...given: Given) => Promise<void>,
): {
  readonly id: string;
  readonly says: string;
  readonly proof: (...given: Given) => Promise<void>;
} {
  return {
    id,
    says,
    proof: async (...given) => {
      for (const row of rows) {
        try {
          await proof(row)(...given);
        } catch (cause) {
          throw new Error(`${id}, with ${nameOf(row)}: ${String(cause)}`, { cause });
        }
      }
    },
  };
}

function nameOf(row: unknown): string {
  if (Array.isArray(row)) return String(row[0]);
  const name = typeof row === "object" && row !== null ? Reflect.get(row, "name") : row;
  return typeof name === "string" ? name : (JSON.stringify(row) ?? String(row));
}

export interface Contract {
  readonly name: string;
  readonly clauses: readonly Clause[];
}

export interface DriverUnderTest {
  readonly open: Open;
  /** Needed by the clauses with `reopens`. A driver that keeps nothing lists those in `except`. */
  readonly reopen?: Reopen;
  /** What this driver lacks: the reason, by the id of the clause. */
  readonly except?: Readonly<Record<string, string>>;
}

/** What a contract needs of a test runner; `test` of `node:test` fits, and most others. */
export interface TestRunner {
  (name: string, proof: () => Promise<void>): unknown;
  skip(name: string, proof: () => Promise<void>): unknown;
}

export interface ClauseResult {
  readonly id: string;
  readonly says: string;
  readonly ok: boolean;
  /** Why the driver is excused from this clause, which was not run. */
  readonly skipped?: string;
  /** What the proof rejected with, if it did. */
  readonly error?: unknown;
}

/**
 * Registers one test per clause with a runner; a clause in `except` as a skipped one, reason in its
 * name.
 *
 * @throws TypeError `except` names no clause of this contract, or gives no reason.
 */
export function testContract(
  contract: Contract,
  driver: DriverUnderTest & { readonly test: TestRunner },
): void {
  checkExcept(contract, driver);
  const { test } = driver;
  for (const clause of contract.clauses) {
    const name = `${clause.says} (${clause.id})`;
    const reason = driver.except?.[clause.id];
    if (reason === undefined) void test(name, () => prove(clause, driver));
    else void test.skip(`${name}: ${reason}`, () => prove(clause, driver));
  }
}

/** Runs the clauses one after the other and tells of each; a failing one does not end the run. */
export async function* runContract(
  contract: Contract,
  open: Open,
  options: Omit<DriverUnderTest, "open"> = {},
): AsyncGenerator<ClauseResult, void, undefined> {
  const driver = { open, ...options };
  checkExcept(contract, driver);
  for (const clause of contract.clauses) {
    const { id, says } = clause;
    const skipped = driver.except?.[id];
    if (skipped !== undefined) {
      yield { id, says, ok: true, skipped };
      continue;
    }
    let result: ClauseResult = { id, says, ok: true };
    try {
      await prove(clause, driver);
    } catch (error) {
      result = { id, says, ok: false, error };
    }
    yield result;
  }
}

async function prove(clause: Clause, driver: DriverUnderTest): Promise<void> {
  await clause.proof(driver.open, driver.reopen ?? cannotReopen);
}

function cannotReopen(): Promise<never> {
  return Promise.reject(new TypeError("give `reopen`, or list this clause in `except`"));
}

function checkExcept(contract: Contract, { except = {} }: DriverUnderTest): void {
  const ids = new Set(contract.clauses.map((clause) => clause.id));
  for (const [id, reason] of Object.entries(except)) {
    if (!ids.has(id)) throw new TypeError(`${contract.name} has no clause ${id}`);
    if (reason.trim() === "") throw new TypeError(`the exception from ${id} needs a reason`);
  }
}

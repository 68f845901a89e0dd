import type { Storage } from "../core/storage/storage.ts";

/** Opens a storage that is empty and that nothing else uses. */
export type Open = () => Promise<Storage>;

/** Closes this storage and opens the same place again, as the next process would. */
export type Reopen = (storage: Storage) => Promise<Storage>;

/** One promise of a contract: a test, and a row of the documentation. */
export interface Clause {
  /** A sentence that is true of every driver: the name of the test. No two of a contract are alike. */
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
  says: string,
  rows: readonly Row[],
  proof: (row: Row) => (...given: Given) => Promise<void>,
): { readonly says: string; readonly proof: (...given: Given) => Promise<void> } {
  return {
    says,
    proof: async (...given) => {
      for (const row of rows) {
        try {
          await proof(row)(...given);
        } catch (cause) {
          throw new Error(`${says}, with ${nameOf(row)}: ${String(cause)}`, { cause });
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
  readonly test: TestRunner;
  readonly open: Open;
  /** Without it, for a driver that keeps nothing, the clauses with `reopens` are skipped. */
  readonly reopen?: Reopen;
}

/** What a contract needs of a test runner; `test` of `node:test` fits, and most others. */
export interface TestRunner {
  (name: string, proof: () => Promise<void>): unknown;
  skip(name: string, proof: () => Promise<void>): unknown;
}

/** Registers one test for each clause with a runner. */
export function testContract({ clauses }: Contract, driver: DriverUnderTest): void {
  const { test, open, reopen } = driver;
  for (const { says, reopens, proof } of clauses) {
    if (reopens && reopen === undefined) void test.skip(`${says}: nothing to reopen`, cannotReopen);
    else void test(says, () => proof(open, reopen ?? cannotReopen));
  }
}

function cannotReopen(): Promise<never> {
  return Promise.reject(new TypeError("only a clause with `reopens` opens a storage again"));
}

// What `applyHistoryTransaction` takes. Everything is looked at before anything is changed; the messages of the
// errors are those of the SDK's own session, as its users match them, and hold no content.
import { invalid } from "../../core/errors.ts";
import { exactText, fromExactText } from "../../core/storage/exact-json.ts";
import type { Item } from "./items.ts";

type HistoryTransaction =
  | { readonly type: "append_items"; readonly items: readonly Item[] }
  | {
      readonly type: "replace_suffix";
      readonly expectedSuffix: readonly Item[];
      readonly replacement: readonly Item[];
    };

export interface TransactionArgs {
  /** Not empty; the same when the transaction is repeated. */
  readonly operationId: string;
  readonly transaction: HistoryTransaction;
}

/** The fields of each transaction that are lists of items, and what errors call it. */
const kinds = {
  append_items: { name: "append", lists: ["items"] },
  replace_suffix: { name: "suffix", lists: ["expectedSuffix", "replacement"] },
} as const;

/**
 * A copy of the arguments, each of which is read once.
 *
 * @throws ThroughlineError `THROUGHLINE_INVALID`
 */
export function checkedTransaction(args: unknown): TransactionArgs {
  const { operationId, transaction: given } = read(args);
  if (typeof operationId !== "string" || operationId.trim() === "") {
    throw refused("operationId must be a non-empty string.");
  }
  const transaction = copied(given);
  if (!isObject(transaction)) throw refused("must be an object.");
  const type = transaction["type"];
  if (type !== "append_items" && type !== "replace_suffix") {
    throw invalid("Unsupported session history transaction type.");
  }
  const { name, lists } = kinds[type];
  const items = lists.map((list) => transaction[list]);
  if (!items.every(Array.isArray) || Object.keys(transaction).length !== lists.length + 1) {
    throw invalid(`Session history ${name} transaction fields are invalid.`);
  }
  if (!items.flat().every(isObject)) throw unsupported();
  return { operationId, transaction: transaction as unknown as HistoryTransaction };
}

function read(args: unknown): { readonly operationId: unknown; readonly transaction: unknown } {
  try {
    const { operationId, transaction } = args as TransactionArgs;
    return { operationId, transaction };
  } catch {
    // biome-ignore lint/style/useErrorCause: its message may hold content.
    throw refused("arguments are invalid.");
  }
}

/** A copy of what can be kept and compared. @throws ThroughlineError `THROUGHLINE_INVALID`: it is something else. */
function copied(value: unknown): unknown {
  try {
    return fromExactText(exactText(value, "a transaction"));
  } catch {
    // biome-ignore lint/style/useErrorCause: its message may hold content.
    throw unsupported();
  }
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const refused = (what: string) => invalid(`Session history transaction ${what}`);
const unsupported = () => refused("items contain invalid or unsupported data.");

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

/** The fields of each transaction that are lists of items. */
const lists = {
  append_items: ["items"],
  replace_suffix: ["expectedSuffix", "replacement"],
} as const;

/**
 * A copy of the arguments, each of which is read once.
 *
 * @throws ThroughlineError `THROUGHLINE_INVALID`
 */
export function checkedTransaction(args: unknown): TransactionArgs {
  let operationId: unknown;
  let given: unknown;
  try {
    operationId = Reflect.get(args as object, "operationId");
    given = Reflect.get(args as object, "transaction");
  } catch {
    // biome-ignore lint/style/useErrorCause: its message may hold content.
    throw refused("arguments are invalid.");
  }
  if (typeof operationId !== "string" || operationId.trim() === "") {
    throw refused("operationId must be a non-empty string.");
  }
  if (typeof given !== "object" || given === null) throw refused("must be an object.");
  const copy = copied(given);
  if (typeof copy !== "object" || copy === null || copy instanceof Uint8Array) {
    throw refused("must be an object.");
  }
  const record = copy as Readonly<Record<string, unknown>>;
  const type = record["type"];
  if (type !== "append_items" && type !== "replace_suffix") {
    throw invalid("Unsupported session history transaction type.");
  }
  const names: readonly string[] = lists[type];
  const isWhole = names.every((name) => Array.isArray(record[name]));
  if (!isWhole || Object.keys(record).length !== names.length + 1) {
    const kind = type === "append_items" ? "append" : "suffix";
    throw invalid(`Session history ${kind} transaction fields are invalid.`);
  }
  const items = names.flatMap((name) => record[name] as readonly unknown[]);
  if (!items.every(isItem)) throw unsupported();
  return { operationId, transaction: record as unknown as HistoryTransaction };
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

/** The fields that each type of item cannot be without, and what they hold. */
const text = "string";
const itemFields: Readonly<Record<string, Readonly<Record<string, "string" | "object">>>> = {
  tool_search_call: {},
  tool_search_output: { tools: "object" },
  hosted_tool_call: { name: text },
  program: { callId: text, code: text, fingerprint: text },
  program_output: { callId: text, output: text, status: text },
  function_call: { callId: text, name: text, arguments: text },
  function_call_result: { callId: text, name: text, status: text },
  computer_call: { callId: text, status: text },
  computer_call_result: { callId: text, output: "object" },
  shell_call: { callId: text, action: "object" },
  shell_call_output: { callId: text, output: "object" },
  apply_patch_call: { callId: text, status: text, operation: "object" },
  apply_patch_call_output: { callId: text, status: text },
  reasoning: { content: "object" },
  compaction: { encrypted_content: text },
  unknown: {},
};

function isItem(value: unknown): value is Item {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  const item = value as Readonly<Record<string, unknown>>;
  const { type = "message", role, content } = item as Item;
  if (type === "message") {
    const isText = typeof content === "string";
    if (role === "assistant") return Array.isArray(content) && typeof item["status"] === "string";
    return role === "system" ? isText : role === "user" && (isText || Array.isArray(content));
  }
  const fields = Object.hasOwn(itemFields, type) ? itemFields[type] : undefined;
  if (fields === undefined) return false;
  return Object.entries(fields).every(([name, kind]) => {
    return item[name] !== null && typeof item[name] === kind;
  });
}

const refused = (what: string) => invalid(`Session history transaction ${what}`);
const unsupported = () => refused("items contain invalid or unsupported data.");

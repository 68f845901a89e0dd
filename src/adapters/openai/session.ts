// A chat as a session of the Agents SDK: the entry point `throughline/openai-agents`.
import { checkChatId } from "../../core/chat/chat-log.ts";
import { isControl } from "../../core/chat/message.ts";
import type { Transaction } from "../../core/chat/transaction.ts";
import { conflict, idConflict, invalid, unless } from "../../core/errors.ts";
import { aList, aThroughline, checkArgument } from "../../core/options.ts";
import { sha256 } from "../../core/sha256.ts";
import { exactText, fromExactText } from "../../core/storage/exact-json.ts";
import type { Throughline } from "../../core/throughline.ts";
import { digestOf, keyOf } from "./item-keys.ts";
import { ItemLog, type Rewrite } from "./item-log.ts";
import { agentsDialect, type Item } from "./items.ts";
import { type AgentOfRun, RunTurn } from "./run-turn.ts";

// biome-ignore lint/suspicious/noExplicitAny: an AgentInputItem of the SDK, whose types need not be installed.
type AgentItem = any;

/** Puts another call in the place of all calls of one id. */
interface ReplaceFunctionCall {
  readonly type: "replace_function_call";
  readonly callId: string;
  readonly replacement: AgentItem;
}

type HistoryTransaction =
  | { readonly type: "append_items"; readonly items: readonly Item[] }
  | {
      readonly type: "replace_suffix";
      readonly expectedSuffix: readonly Item[];
      readonly replacement: readonly Item[];
    };

interface TransactionArgs {
  /** Not empty; the same when the transaction is repeated. */
  readonly operationId: string;
  readonly transaction: HistoryTransaction;
}

/**
 * A chat as a session of the OpenAI Agents SDK. What runs add to it is in the chat like everything that is said
 * there; what was said there in another way is in the session.
 *
 * A run asks its session to store something once, at its end: a crash before loses all of it, also what the person
 * said. With `callModelInputFilter: session.beforeModel` everything is stored before the model call that
 * gets it. Use one object for each run.
 */
export class ThroughlineSession {
  readonly #throughline: Throughline;
  readonly #chatId: string;
  readonly #log: ItemLog;
  readonly #turn: RunTurn;

  /** @param chatId the chat: the id of the session. It begins with the first item. */
  constructor(throughline: Throughline, chatId: string) {
    checkArgument(throughline, "throughline", aThroughline);
    checkChatId(chatId);
    this.#throughline = throughline;
    this.#chatId = chatId;
    this.#log = new ItemLog(throughline, chatId, agentsDialect);
    this.#turn = new RunTurn(throughline, chatId, this.#log);
  }

  async getSessionId(): Promise<string> {
    return this.#chatId;
  }

  /**
   * The items since the chat was last cleared or compacted, oldest first: with freshness rules only those of the
   * current period. What was erased, taken back or replaced by another answer is left out.
   *
   * @param limit the newest so many. 0 or less is none.
   */
  async getItems(limit = Number.MAX_SAFE_INTEGER): Promise<AgentItem[]> {
    this.#turn.runBegins();
    const entries = await this.#log.entries(limit, { isTurn: this.#turn.isOpen });
    const items = entries.flatMap((entry) => entry.items);
    return items.slice(Math.max(0, items.length - limit));
  }

  /**
   * Adds items to the end, all or none, and ends the turn that `beforeModel` opened. What that stored already is
   * not stored again.
   */
  async addItems(items: AgentItem[]): Promise<void> {
    checkArgument(items, "items", aList);
    if (items.length > 0) await this.#turn.add(structuredClone(items) as Item[]);
  }

  /** Takes the newest item back. @returns it; `undefined`: there is none. */
  async popItem(): Promise<AgentItem | undefined> {
    let popped: Item | undefined;
    await this.#log.rewrite(1, (items) => {
      popped = items.at(-1);
      return popped && { keep: items.length - 1, items: [] };
    });
    if (popped !== undefined) this.#turn.forget(popped);
    return popped;
  }

  /**
   * Clears the chat, and forgets the ids of operations. People no longer see what was said; its bytes stay until
   * the chat is forgotten.
   */
  async clearSession(): Promise<void> {
    await this.#turn.end();
    // What was never begun has nothing to clear.
    await this.#throughline.chats.clear(this.#chatId).catch(unless("THROUGHLINE_NOT_FOUND"));
  }

  /** Puts items in the place of all that models get, in one append. People keep the transcript. */
  async replaceHistoryWithCompaction(items: AgentItem[]): Promise<void> {
    checkArgument(items, "items", aList);
    const given = structuredClone(items) as Item[];
    const stored = (await this.#log.all(true)).flatMap((entry) => entry.items);
    const known = new Set(stored.map(keyOf));
    await this.#log.replace(given, (item) => known.has(keyOf(item)));
    await this.#turn.close();
  }

  /** Puts calls in the place of stored ones. What comes after the first of them is stored again behind it. */
  async applyHistoryMutations(args: { mutations: ReplaceFunctionCall[] }): Promise<void> {
    checkArgument(args?.mutations, "mutations", aList);
    const mutations = structuredClone(args.mutations);
    if (mutations.length === 0) return;
    await this.#log.rewrite(Number.MAX_SAFE_INTEGER, (items) => {
      const next = mutations.reduce(replaced, items);
      const at = next.findIndex((item, index) => item !== items[index]);
      const keep = at < 0 ? next.length : at;
      return keep === items.length ? undefined : { keep, items: next.slice(keep) };
    });
  }

  /**
   * Changes the history once, however often it is called with this `operationId`: the change and the id are one
   * append.
   *
   * @throws ThroughlineError `THROUGHLINE_INVALID`: the arguments. `THROUGHLINE_ID_CONFLICT`: another change
   *   had this id. `THROUGHLINE_CONFLICT`: the history ends otherwise than `expectedSuffix`. Nothing is
   *   changed.
   */
  async applyHistoryTransaction(args: TransactionArgs): Promise<void> {
    const { operationId, transaction } = checkedTransaction(args);
    const digest = digestOf(transaction);
    const operation = { hash: sha256(operationId).toString("hex"), digest };
    const isAppend = transaction.type === "append_items";
    const expected = isAppend ? [] : transaction.expectedSuffix;
    const { chats } = this.#throughline;
    const { head } = await chats.state(this.#chatId);
    if (await this.#isApplied(head?.clear_seq, operation)) return;
    const added = isAppend ? this.#turn.unstored(transaction.items) : transaction.replacement;
    const decide = (items: readonly Item[]): Rewrite => {
      const keep = items.length - expected.length;
      const found = items.slice(Math.max(0, keep));
      if (keep >= 0 && digestOf(found) === digestOf(expected)) return { keep, items: added };
      throw conflict("Session history suffix no longer matches the transaction precondition.");
    };
    await this.#log.rewrite(expected.length, decide, async (change: Transaction) => {
      const { clear_seq: clearSeq } = change.head;
      if (await this.#isApplied(clearSeq, operation)) return false;
      change.control("metadata", { operation: digest }, operationKey(clearSeq, operation.hash));
      return true;
    });
    if (isAppend) await this.#turn.added(transaction.items);
  }

  /**
   * For `callModelInputFilter`: stores what of the model's input is not stored yet, before the model gets it. The
   * first call of a run opens a turn, which `addItems` ends: until then the chat counts as unanswered. The
   * input stays as it is.
   */
  readonly beforeModel = async <Data extends { input: AgentItem[] }>(call: {
    modelData: Data;
    agent: AgentOfRun;
  }): Promise<Data> => {
    await this.#turn.beforeModel(call.modelData.input as Item[], call.agent);
    return call.modelData;
  };

  /**
   * What was said, and what tools were called for and returned, in the turn that has no end: its run failed or its
   * process died. Empty where there is none. `getItems` has it too, and nothing runs again by itself.
   */
  async interrupted(): Promise<AgentItem[]> {
    const { head } = await this.#throughline.chats.state(this.#chatId);
    const id = head?.open_turn?.id;
    if (id === undefined) return [];
    const entries = await this.#log.all(true);
    return entries
      .filter(({ message }) => message.id === id || message.turn === id)
      .flatMap(({ items }) => items);
  }

  /** Ends the turn of a run that failed, or whose process died, without an answer. What was said stays. */
  async dismiss(): Promise<void> {
    await this.#turn.dismiss();
  }

  /** @throws ThroughlineError `THROUGHLINE_ID_CONFLICT`: another change had this id. */
  async #isApplied(
    clearSeq: number | undefined,
    operation: { readonly hash: string; readonly digest: string },
  ): Promise<boolean> {
    const { logs } = this.#throughline.chats;
    const known = await logs.find(this.#chatId, operationKey(clearSeq, operation.hash));
    if (known === undefined) return false;
    if (isControl(known, "metadata") && known["operation"] === operation.digest) return true;
    const says = "Session history operation was already applied with a different transaction.";
    throw idConflict(says);
  }
}

/** A clear forgets operations: their ids count from there. */
const operationKey = (clearSeq = 0, hash: string) => `op:${clearSeq}:${hash}`;

function replaced(items: readonly Item[], mutation: ReplaceFunctionCall): readonly Item[] {
  if (mutation.type !== "replace_function_call") return items;
  const isIt = ({ type, callId }: Item) => type === "function_call" && callId === mutation.callId;
  const first = items.findIndex(isIt);
  return items.flatMap((item, index) => {
    if (!isIt(item)) return [item];
    return index === first ? [mutation.replacement as Item] : [];
  });
}

/** The fields of each transaction that are lists of items, and what errors call it. */
const kinds = {
  append_items: { name: "append", lists: ["items"] },
  replace_suffix: { name: "suffix", lists: ["expectedSuffix", "replacement"] },
} as const;

/**
 * A copy of the arguments, each of which is read once. Everything is looked at before anything is changed; the messages
 * of the errors are those of the SDK's own session, as its users match them, and hold no content.
 *
 * @throws ThroughlineError `THROUGHLINE_INVALID`
 */
function checkedTransaction(args: unknown): TransactionArgs {
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

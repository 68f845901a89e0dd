// What is shown of a chat: one answer, for pages, models, search, exports, forks and turns.
import { isErased } from "../storage/batch.ts";
import type { LogStore, StoredRecord } from "../storage/log-store.ts";
import { isControl, isMessage, type StoredMessage } from "./message.ts";
import { controlId, hidingKinds, type MarkKind, retryAnswerId } from "./record-ids.ts";

type Logs = Pick<LogStore, "findAll">;

/** The records of a chat that hide messages of it, as far as they were read. */
export class Marks {
  /** By kind, the ids of messages that such a record names, and whether the last of them hides the message. */
  readonly #of = new Map<MarkKind, Map<string, boolean>>();
  /** The id of the next replacement of a message, where it is not the first. */
  readonly #next = new Map<string, string>();
  /** Answers of retries. One that came after its period had ended is hidden and replaced nothing. */
  readonly #standing = new Set<string>();

  /** Reads all marks of a log after this record, in memory that is bounded by their number. */
  static async in(logs: Pick<LogStore, "read">, chatId: string, after = 0): Promise<Marks> {
    const marks = new Marks();
    for await (const record of logs.read(chatId, { after })) marks.#add(record);
    return marks;
  }

  /**
   * Finds the marks that name these messages by their ids: in one question, and one more for each time that one of
   * the messages was replaced.
   */
  static async about(
    logs: Logs,
    chatId: string,
    messages: readonly (StoredMessage | { readonly id: string })[],
    kinds: readonly MarkKind[] = hidingKinds,
  ): Promise<Marks> {
    const marks = new Marks();
    const answers = messages.flatMap((each) => ("role" in each && retryAnswerId(each)) || []);
    let open = messages.flatMap(({ id: target }) => kinds.map((kind) => ({ kind, target })));
    for (let n = 1; open.length > 0; n++) {
      const asked = open.map((mark) => ({ ...mark, id: controlId(mark.kind, mark.target, n) }));
      const ids = asked.map(({ id }) => id).concat(n === 1 ? answers : []);
      const found = await logs.findAll(chatId, ids);
      if (n === 1) for (const id of answers) marks.#add(found.get(id));
      open = asked.filter((mark) => marks.#isContinued(mark, found.get(mark.id), n));
    }
    return marks;
  }

  /** Notes the nth record with the id of a mark. @returns whether there may be another one after it. */
  #isContinued(
    { kind, target }: { readonly kind: MarkKind; readonly target: string },
    record: StoredRecord | undefined,
    n: number,
  ): boolean {
    if (record === undefined) return false;
    // The second of the message `m` has the id of the first of a message `m~2`.
    if (record["target"] === target) this.#add(record);
    if (kind !== "replacement") return false;
    this.#next.set(target, controlId(kind, target, n + 1));
    return true;
  }

  /** Whether a message is marked so. */
  has(kind: MarkKind, target: string): boolean {
    return this.#of.get(kind)?.get(target) === true;
  }

  /** Names the next replacement of a message: only after `about`. A message is removed or erased but once. */
  nextReplacement(target: string): string {
    return this.#next.get(target) ?? controlId("replacement", target);
  }

  /** Whether another answer took its place. An unfinished retry replaces nothing, and is not shown itself. */
  isReplaced(message: StoredMessage): boolean {
    if (message.role !== "assistant" && message.role !== "tool") return false;
    const answer = retryAnswerId(message);
    if (answer !== undefined && !this.#standing.has(answer)) return true;
    return this.has("replacement", message.id);
  }

  /** Shows a message as people see it: hidden where it was replaced; `undefined`: it was taken back. */
  shown(message: StoredMessage): StoredMessage | undefined {
    if (this.has("removal", message.id)) return undefined;
    return this.isReplaced(message) ? { ...message, hidden: true, replaced: true } : message;
  }

  /**
   * Adds a record that is older than all that were added: a newer mark about the same message counts.
   *
   * @returns the id of the message that the record marks.
   */
  addOlder(record: StoredRecord): string | undefined {
    return this.#add(record, true);
  }

  #add(record: StoredRecord | undefined, isOlder = false): string | undefined {
    if (record === undefined) return undefined;
    if (record.id.includes(":answer:") && record["hidden"] !== true) this.#standing.add(record.id);
    const { kind, target } = record as { readonly kind?: MarkKind; readonly target?: unknown };
    if (!isControl(record) || kind === undefined || typeof target !== "string") return undefined;
    const ofKind = this.#of.get(kind) ?? new Map<string, boolean>();
    // One that a person chose again is shown.
    const isMarked = kind !== "replacement" || record["restored"] !== true;
    this.#of.set(kind, isOlder && ofKind.has(target) ? ofKind : ofKind.set(target, isMarked));
    return hidingKinds.some((each) => each === kind) ? target : undefined;
  }
}

/**
 * Reads the records of a chat after this one, oldest first, with the messages as people see them. Rejects if the chat
 * cannot be read.
 */
export async function shownRecords(
  logs: Pick<LogStore, "read">,
  chatId: string,
  after = 0,
): Promise<AsyncIterable<StoredRecord>> {
  const marks = await Marks.in(logs, chatId, after);
  const shown = async function* () {
    for await (const record of logs.read(chatId, { after })) {
      const seen = isMessage(record) ? marks.shown(record) : record;
      if (seen !== undefined) yield seen;
    }
  };
  return shown();
}

/** Reads messages as people see them, without those that were taken back. */
export async function shownMessages(
  logs: Logs,
  chatId: string,
  messages: readonly StoredMessage[],
): Promise<StoredMessage[]> {
  const marks = await Marks.about(logs, chatId, messages);
  return messages.flatMap((message) => marks.shown(message) ?? []);
}

/** Whether the application took this message back: then nothing shows it. */
export async function isTakenBack(logs: Logs, chatId: string, id: string): Promise<boolean> {
  return (await Marks.about(logs, chatId, [{ id }], ["removal"])).has("removal", id);
}

/**
 * Whether one of these messages was erased in its chat. What a chat never held, or forgot as a whole, was
 * not; and what the application took back no person wanted gone.
 */
export async function holdsRemoved(
  logs: Logs,
  chatId: string | null,
  messageIds: Iterable<string>,
): Promise<boolean> {
  if (chatId === null) return false;
  const found = await logs.findAll(chatId, [...messageIds]);
  return [...found.values()].some(isErased);
}

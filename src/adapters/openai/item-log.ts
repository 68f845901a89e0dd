import { isDeepStrictEqual } from "node:util";
import { chatZone, startFor } from "../../core/chat/chat-head.ts";
import { takeBackFrom } from "../../core/chat/erasure.ts";
import { exactOf, keepExact } from "../../core/chat/exact.ts";
import { judge } from "../../core/chat/freshness.ts";
import { shownMessages } from "../../core/chat/marks.ts";
import { isMessage, type StoredMessage } from "../../core/chat/message.ts";
import type { MessageInput } from "../../core/chat/message-input.ts";
import type { Transaction } from "../../core/chat/transaction.ts";
import { conflict, isThroughlineError } from "../../core/errors.ts";
import { update } from "../../core/storage/log-store.ts";
import type { Throughline } from "../../core/throughline.ts";
import { type Dialect, type Item, itemsOf, shownOf } from "./items.ts";

/** A message of the chat, and the items that it is. */
export interface Entry {
  readonly message: StoredMessage;
  readonly items: readonly Item[];
}

/** A change of the end of a history. */
export interface Rewrite {
  /** How many of the items that were read stay, from the first. */
  readonly keep: number;
  /** What comes after those. */
  readonly items: readonly Item[];
  /** The ids of all items then: those that are stored again keep theirs, as `item_ids` of their messages. */
  readonly ids?: readonly string[] | undefined;
}

const pageSize = 1_000;

/** The items of one chat, in one dialect. */
export class ItemLog {
  readonly #throughline: Throughline;
  readonly #chatId: string;
  readonly #dialect: Dialect;

  constructor(throughline: Throughline, chatId: string, dialect: Dialect) {
    this.#throughline = throughline;
    this.#chatId = chatId;
    this.#dialect = dialect;
  }

  /**
   * The messages that make at least `limit` items, oldest first: the newest, or with `after` the first behind that
   * number. Only those after the last clear and compaction, and in the current period; what was erased, taken back or
   * replaced by another answer is left out.
   *
   * @param options `isTurn`: a turn runs, so that no rule about time ends the period. `before`: only
   *   messages before this number.
   */
  async entries(
    limit: number,
    options: {
      readonly isTurn?: boolean;
      readonly before?: number | undefined;
      readonly after?: number;
    } = {},
  ): Promise<readonly Entry[]> {
    const { isTurn = false, before = Number.MAX_SAFE_INTEGER, after } = options;
    const { logs } = this.#throughline.chats;
    const { head } = await this.#throughline.chats.state(this.#chatId);
    const found: Entry[] = [];
    if (head === undefined || limit <= 0) return found;
    const from = this.#start(head, isTurn);
    const isForward = after !== undefined;
    const inOrder = () => (isForward ? found : found.reverse());
    const size = Math.min(limit, pageSize);
    let count = 0;
    for (let at = isForward ? Math.max(after, from) : before; isForward || at > from + 1; ) {
      const place = isForward ? { after: at } : { before: at };
      const page = await logs.page(this.#chatId, { ...place, limit: size });
      const last = page.at(isForward ? -1 : 0);
      if (last === undefined) break;
      at = last.seq;
      const messages = page.filter(({ seq }) => seq > from).filter(isMessage);
      const shown = await shownMessages(logs, this.#chatId, messages);
      for (const message of isForward ? shown : shown.reverse()) {
        if (!isForward && this.#isBoundary(message)) return inOrder();
        const items = await this.#itemsOf(message);
        if (items.length > 0) found.push({ message, items });
        count += items.length;
        if (count >= limit) return inOrder();
      }
    }
    return inOrder();
  }

  /** The message with this id, if it is shown and makes an item. */
  async entry(messageId: string): Promise<Entry | undefined> {
    const { chats } = this.#throughline;
    const message = await chats.find(this.#chatId, messageId);
    const { head } = await chats.state(this.#chatId);
    if (message === undefined || message.seq <= (head?.clear_seq ?? 0)) return undefined;
    const items = await this.#itemsOf(message);
    return items.length > 0 ? { message, items } : undefined;
  }

  /** Everything, oldest first. */
  all(isTurn = false): Promise<readonly Entry[]> {
    return this.entries(Number.MAX_SAFE_INTEGER, { isTurn });
  }

  /**
   * Items as messages to be stored next. What of an item does not fit into a record is stored before this
   * resolves.
   *
   * @param isHidden whether people are not shown it, as they have it already.
   * @param turn the id of the message that they answer: see `keepExact`.
   */
  async inputs(
    items: readonly Item[],
    isHidden: (item: Item) => boolean = () => false,
    turn?: string,
  ): Promise<(MessageInput & { readonly id: string })[]> {
    const { chats, ports } = this.#throughline;
    const { framework } = this.#dialect;
    const inputs: (MessageInput & { readonly id: string })[] = [];
    for (const item of items) {
      const id = ports.newId();
      const shown = shownOf(item, this.#dialect);
      const hidden = shown === undefined || isHidden(item) || undefined;
      // A turn begins with words, or with the exact form of what has none.
      const isPlain =
        hidden === undefined &&
        shown !== undefined &&
        (shown.role !== "user" || shown.content !== "") &&
        isDeepStrictEqual(itemsOf(shown as StoredMessage, this.#dialect), [item]);
      if (isPlain) inputs.push({ ...shown, id });
      else {
        const { exact, attachments } = await keepExact(chats, this.#chatId, id, item, turn);
        const said = shown ?? { role: "assistant", content: "" };
        inputs.push({ ...said, id, hidden, attachments, exact: { ...exact, framework } });
      }
    }
    return inputs;
  }

  /** Adds items to the end, all or none. They are stored when this resolves. */
  async append(items: readonly Item[], turn?: string): Promise<readonly StoredMessage[]> {
    const { chats } = this.#throughline;
    const inputs = (await this.inputs(items)).map((input) => ({ ...input, turn }));
    try {
      return await chats.append(this.#chatId, inputs);
    } catch (error) {
      if (!isThroughlineError(error, "THROUGHLINE_OUTCOME_UNKNOWN")) throw error;
      // The caller cannot repeat it: it does not know the ids, by which it is stored once.
      return chats.append(this.#chatId, inputs);
    }
  }

  /**
   * Changes the end of the history in one append: what does not stay is taken back. Reads and decides again
   * when others wrote to the chat in between.
   *
   * @param limit how many of the newest items are read.
   * @param decide `undefined`: nothing changes.
   * @param also more of the same change. @returns whether to store it.
   */
  async rewrite(
    limit: number,
    decide: (items: readonly Item[]) => Rewrite | undefined,
    also: (transaction: Transaction) => Promise<boolean> = async () => true,
  ): Promise<void> {
    const { chats } = this.#throughline;
    const overtaken = conflict("others wrote to this chat all the time: try again");
    const change = async (): Promise<readonly string[]> => {
      const before = await this.entries(limit, { isTurn: true });
      const rewrite = decide(before.flatMap(({ items }) => items));
      if (rewrite === undefined) return [];
      const inputs = await this.inputs(rewrite.items);
      const { gone, left } = cut(before, rewrite.keep);
      const taken = await chats.change(this.#chatId, async (transaction) => {
        if (!isSame(before, await this.entries(limit, { isTurn: true }))) return undefined;
        if (!(await also(transaction))) return [];
        if (gone.length > 0) await takeBackFrom(transaction, new Set(gone), chats.logs);
        const { keep, ids } = rewrite;
        const named = (at: number) => (ids === undefined ? {} : { item_ids: [ids[at] ?? ""] });
        for (const [index, item] of left.entries()) {
          const shown = shownOf(item, this.#dialect);
          const at = keep - left.length + index;
          if (shown !== undefined) transaction.message({ ...shown, ...named(at) });
        }
        for (const [index, input] of inputs.entries()) {
          const message = await chats.appendTo(transaction, { ...input, ...named(keep + index) });
          if (gone.length === 0) transaction.hear(message);
        }
        return gone;
      });
      if (taken === undefined) throw overtaken;
      return taken;
    };
    const gone = await update(change, (error) => error === overtaken);
    // It is done, and done once: this tells everything else that holds something of these messages.
    if (gone.length > 0) await chats.takeBack(this.#chatId, gone);
  }

  /** Puts items in the place of the whole history. What people saw they still see. */
  async replace(items: readonly Item[], isKnown: (item: Item) => boolean): Promise<void> {
    const inputs = await this.inputs(items, isKnown);
    const exact = { framework: this.#dialect.framework, boundary: true };
    const boundary = { role: "system", content: "", hidden: true, exact } as const;
    const { chats } = this.#throughline;
    await chats.append(this.#chatId, [boundary, ...inputs], { heard: false });
  }

  #isBoundary({ exact }: StoredMessage): boolean {
    return exact?.["framework"] === this.#dialect.framework && exact["boundary"] === true;
  }

  async #itemsOf(message: StoredMessage): Promise<readonly Item[]> {
    if (message.redacted || message.replaced) return [];
    if (message.exact?.["framework"] === this.#dialect.framework) {
      // An answer that came after its period had ended says which that was.
      if (message.hidden && message["generation"] !== undefined) return [];
      const { chats } = this.#throughline;
      return [(await exactOf(chats, this.#chatId, message)) as Item];
    }
    return message.hidden ? [] : itemsOf(message, this.#dialect);
  }

  /** The number of the record after which what is said now belongs together: a clear, or the current period. */
  #start(head: NonNullable<Transaction["head"]>, isTurn: boolean): number {
    const { rules, ports } = this.#throughline;
    const { framework: provider } = this.#dialect;
    const now = ports.clock.now();
    const timeZone = chatZone(head) ?? rules.timeZone;
    const state = head.session ?? undefined;
    const { ends } = judge({ state, provider, now, rules, timeZone, isQueued: isTurn });
    return ends === "nothing" ? startFor(head, provider) : Number.MAX_SAFE_INTEGER;
  }
}

const isSame = (a: readonly Entry[], b: readonly Entry[]) =>
  a.length === b.length && a.at(-1)?.message.id === b.at(-1)?.message.id;

/** What goes when so many items stay, and what stays of a message of which a part goes. */
function cut(
  entries: readonly Entry[],
  keep: number,
): { readonly gone: readonly string[]; readonly left: readonly Item[] } {
  let before = 0;
  const gone: string[] = [];
  let left: readonly Item[] = [];
  for (const { message, items } of entries) {
    const stays = Math.max(0, keep - before);
    before += items.length;
    if (stays >= items.length) continue;
    gone.push(message.id);
    if (stays > 0) left = items.slice(0, stays);
  }
  return { gone, left };
}

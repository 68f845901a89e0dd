// The items of a chat as the Conversations API of OpenAI names and shows them.
import { notFound } from "../../core/chat/chat-log.ts";
import type { StoredMessage } from "../../core/chat/message.ts";
import type { MessageInput } from "../../core/chat/message-input.ts";
import { conflict } from "../../core/errors.ts";
import type { Throughline } from "../../core/throughline.ts";
import { type Entry, ItemLog } from "./item-log.ts";
import { conversationsDialect, type Item } from "./items.ts";

type ShownItem = Item & { readonly id: string };

/** Items whose id a model needs again: they keep the one that they were given. */
const keepId = ["reasoning", "program", "program_output"];

/** The fields that each type cannot be without. Of a type that is not here nothing is known. */
const textFields: Readonly<Record<string, readonly string[]>> = {
  function_call: ["call_id", "name", "arguments"],
  function_call_output: ["call_id"],
  item_reference: ["id"],
};

/** What is wrong with an item; `undefined`: nothing. */
export function problemOf(item: Item): string | undefined {
  const { type, role, content } = item;
  if (type === undefined && role === undefined) return "has neither type nor role";
  if (type === undefined || type === "message") {
    if (role === undefined) return "has no role";
    const isContent = typeof content === "string" || Array.isArray(content);
    return isContent ? undefined : "has no content";
  }
  if (type === "item_reference") return "refers to an item: give the item itself";
  const fields = Object.hasOwn(textFields, type) ? textFields[type] : undefined;
  const missing = fields?.find((name) => typeof item[name] !== "string");
  if (missing !== undefined) return `has no ${missing}`;
  const isOutput = type !== "function_call_output" || item["output"] !== undefined;
  return isOutput ? undefined : "has no output";
}

/** The items of one conversation: a chat that exists. */
export class ConversationItems {
  readonly #throughline: Throughline;
  readonly #id: string;
  readonly #log: ItemLog;

  constructor(throughline: Throughline, id: string) {
    this.#throughline = throughline;
    this.#id = id;
    this.#log = new ItemLog(throughline, id, conversationsDialect);
  }

  /** @throws ThroughlineError `THROUGHLINE_NOT_FOUND` */
  async row() {
    const { head } = await this.#throughline.chats.existing(this.#id);
    const created = Date.parse(head.created_at);
    return {
      id: this.#id,
      object: "conversation",
      created_at: Number.isNaN(created) ? 0 : Math.floor(created / 1000),
      metadata: head.metadata,
    };
  }

  inputs(items: readonly Item[]): Promise<(MessageInput & { readonly id: string })[]> {
    return this.#log.inputs(items.map(asShown));
  }

  /** Adds items, all or none. @throws ThroughlineError `THROUGHLINE_NOT_FOUND`: no such conversation. */
  async add(items: readonly Item[]): Promise<{
    readonly stored: readonly StoredMessage[];
    readonly data: readonly ShownItem[];
  }> {
    const { chats } = this.#throughline;
    await chats.existing(this.#id);
    const inputs = await this.inputs(items);
    const stored = await chats.changeExisting(this.#id, async (transaction) => {
      const added: StoredMessage[] = [];
      for (const input of inputs) added.push(await chats.appendTo(transaction, input));
      return added;
    });
    const data = items.map((item, index) => withId(asShown(item), stored[index]?.id ?? ""));
    return { stored, data };
  }

  /** A page of items. @throws ThroughlineError `THROUGHLINE_NOT_FOUND`: no such conversation, or item. */
  async list(page: {
    readonly order: "asc" | "desc";
    readonly limit: number;
    readonly after?: string | undefined;
  }): Promise<{ readonly data: readonly ShownItem[]; readonly hasMore: boolean }> {
    const { order, limit, after } = page;
    await this.#throughline.chats.existing(this.#id);
    const from = after === undefined ? undefined : await this.#entry(after);
    // The message of that item may have more of them.
    const wanted = limit + 1 + (from?.items.length ?? 0);
    const seq = from?.message.seq;
    const isForward = order === "asc";
    const place = isForward ? { after: (seq ?? 1) - 1 } : { before: seq && seq + 1 };
    const shown = (await this.#log.entries(wanted, place)).flatMap(shownItems);
    const items = isForward ? shown : shown.reverse();
    const start = after === undefined ? 0 : items.findIndex(({ id }) => id === after) + 1;
    return {
      data: items.slice(start, start + limit),
      hasMore: items.length > start + limit,
    };
  }

  /** Takes an item back. @returns the id of its message. */
  async remove(itemId: string): Promise<string> {
    const { chats } = this.#throughline;
    await chats.existing(this.#id);
    const { message, items } = await this.#entry(itemId);
    if (items.length === 1) await chats.takeBack(this.#id, [message.id]);
    else {
      const all = (await this.#log.all()).flatMap(shownItems);
      const ids = all.map(({ id }) => id);
      const at = ids.indexOf(itemId);
      await this.#log.rewrite(Number.MAX_SAFE_INTEGER, (now) => {
        if (now.length !== all.length) throw conflict("the conversation changed: try again");
        return { keep: at, items: now.slice(at + 1), ids: ids.toSpliced(at, 1) };
      });
    }
    return message.id;
  }

  /** The message with an item. @throws ThroughlineError `THROUGHLINE_NOT_FOUND` */
  async #entry(itemId: string): Promise<Entry> {
    const has = (entry: Entry) => shownItems(entry).some(({ id }) => id === itemId);
    const own = [itemId, itemId.replace(/~\d+$/, "")];
    const entries = await Promise.all(own.map((id) => this.#log.entry(id)));
    // Only one that kept an id of its own has to be looked for.
    const found =
      entries.find((entry) => entry !== undefined && has(entry)) ??
      (await this.#log.all()).findLast(has);
    if (found === undefined) throw notFound(this.#id, "item");
    return found;
  }
}

/** An item as it is stored and listed, without its id. */
function asShown(given: Item): Item {
  const { id, ...item } = given;
  const { type = "message", role, content } = item;
  if (keepId.includes(type)) return given;
  if (type === "function_call" || type === "function_call_output") {
    return { ...item, status: item["status"] ?? "completed" };
  }
  if (type !== "message") return item;
  const kind = role === "assistant" ? "output_text" : "input_text";
  const parts = typeof content === "string" ? [{ type: kind, text: content }] : content;
  const whole = Array.isArray(parts) ? parts.map(wholePart) : parts;
  return { ...item, type, content: whole, status: item["status"] ?? "completed" };
}

function wholePart(part: object): object {
  return "type" in part && part.type === "output_text"
    ? { annotations: [], logprobs: [], ...part }
    : part;
}

function withId(item: Item, id: string): ShownItem {
  const own = keepId.includes(String(item.type)) ? item["id"] : undefined;
  return { ...item, id: typeof own === "string" ? own : id };
}

/** The items of a message: the first has the id of the message. Those that were stored again keep theirs. */
function shownItems({ message, items }: Entry): readonly ShownItem[] {
  const { item_ids: kept } = message;
  return items.map((item, index) => {
    const id: unknown = Array.isArray(kept) ? kept[index] : undefined;
    const made = index === 0 ? message.id : `${message.id}~${index}`;
    return withId(item, typeof id === "string" ? id : made);
  });
}

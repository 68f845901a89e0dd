import { startFor } from "../../core/chat/chat-head.ts";
import { shownMessages } from "../../core/chat/marks.ts";
import { isMessage as isStored } from "../../core/chat/message.ts";
import type { MessageInput } from "../../core/chat/message-input.ts";
import { errorName, unless } from "../../core/errors.ts";
import { isLongerThan } from "../../core/storage/key.ts";
import { logLimits } from "../../core/storage/log-store.ts";
import type { Throughline } from "../../core/throughline.ts";
import { chatMessage, type LangChainMessage } from "./chat-message.ts";
import type { CheckpointTuple } from "./langgraph.ts";

/** Copies what is said in a thread into the chat of the same id, and takes out of the thread what is gone there. */
export class Transcript {
  readonly #throughline: Pick<Throughline, "chats" | "ports">;

  constructor(throughline: Pick<Throughline, "chats" | "ports">) {
    this.#throughline = throughline;
  }

  /**
   * Adds the messages at the end of a list that the chat does not have yet, by their ids. So a copy that a crash
   * prevented is made up for by the next one. A message that a chat cannot hold is left out, with a warning.
   */
  async add(chatId: string, messages: unknown): Promise<void> {
    const { chats } = this.#throughline;
    const missing: MessageInput[] = [];
    for (const message of Array.isArray(messages) ? messages.toReversed() : []) {
      const said = isMessage(message) ? chatMessage(message) : undefined;
      if (said?.id === undefined) continue;
      if (isStorable(said.id) && (await chats.find(chatId, said.id)) !== undefined) break;
      missing.unshift(said);
    }
    for (const said of missing) await this.#append(chatId, said);
  }

  /**
   * Takes out of lists of messages what the chat took back or erased, and all up to what it cleared or reset. A call goes
   * together with its results: models refuse one without the other.
   */
  async takeOut(chatId: string, { checkpoint, pendingWrites = [] }: CheckpointTuple) {
    const { chats } = this.#throughline;
    const { logs } = chats;
    const { head } = await chats.state(chatId);
    const written = pendingWrites.map(([, , value]) => value);
    const lists = [...Object.values(checkpoint.channel_values), ...written].filter(isMessages);
    const ids = new Set(lists.flat().map(({ id = "" }) => id));
    const found = await logs.findAll(chatId, [...ids].filter(isStorable));
    const stored = [...found.values()].filter(isStored);
    const shown = await shownMessages(logs, chatId, stored);
    const kept = new Set(shown.flatMap((each) => (each.replaced ? [] : each.id)));
    const start = startFor(head, "langgraph");
    const isPast = ({ id = "" }: LangChainMessage) => (found.get(id)?.seq ?? start + 1) <= start;
    const isGone = ({ id = "" }: LangChainMessage) => found.has(id) && !kept.has(id);
    for (const list of lists) {
      const groups: LangChainMessage[][] = [];
      for (const each of list) {
        const call = each.getType() === "tool" ? groups.at(-1) : undefined;
        if (call?.[0]?.tool_calls?.length) call.push(each);
        else groups.push([each]);
      }
      const left = groups.slice(groups.findLastIndex((group) => group.some(isPast)) + 1);
      list.splice(0, list.length, ...left.filter((group) => !group.some(isGone)).flat());
    }
  }

  async #append(chatId: string, message: MessageInput): Promise<void> {
    const { chats, ports } = this.#throughline;
    try {
      await chats.append(chatId, [message], { heard: false });
    } catch (error) {
      unless("THROUGHLINE_TOO_LARGE", "THROUGHLINE_INVALID", "THROUGHLINE_ID_CONFLICT")(error);
      const fields = { chat: chatId, error: errorName(error) };
      ports.logger.warn(fields, "a message of a thread is not in its chat");
    }
  }
}

function isMessage(value: unknown): value is LangChainMessage {
  return typeof (value as Partial<LangChainMessage> | null)?.getType === "function";
}

const isMessages = (value: unknown) => Array.isArray(value) && value.every(isMessage);

/** Whether a record of a chat can have this id. */
function isStorable(id: string): boolean {
  return /^[^\0]+$/.test(id) && id.isWellFormed() && !isLongerThan(id, logLimits.idBytes);
}

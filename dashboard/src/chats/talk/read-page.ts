import { chatPath, request } from "../../api/client.ts";
import type { MessagePage, ServerEvents } from "../../api/openapi-types.ts";
import type { FeedState } from "./feed-state.ts";

export interface ReadPage extends Pick<FeedState, "messages" | "before"> {
  /** There is no such chat: it has no message yet, or was forgotten. */
  readonly isMissing: boolean;
}

const newestSize = 50;
/** Going back usually goes far: larger pages, fewer stops. */
const olderSize = 100;

/**
 * The newest messages of a chat, or those before a place; none where nothing was said yet.
 *
 * @param limit so many before a place, up to 1,000.
 */
export async function readPage(
  chatId: string,
  before?: number,
  limit = olderSize,
): Promise<ReadPage> {
  const which = before === undefined ? `limit=${newestSize}` : `limit=${limit}&before=${before}`;
  const path = `${chatPath(chatId)}/messages?${which}&if_exists=true`;
  const page = await request<MessagePage | undefined>(path);
  return { messages: page?.messages ?? [], before: page?.before, isMissing: page === undefined };
}

type MessageEvent = ServerEvents["message"];

/** Events of messages while a page of them is on its way: the page may be older than they are. */
export class EventsWhileReading {
  readonly #reads = new Set<MessageEvent[]>();

  add(event: MessageEvent): void {
    for (const events of this.#reads) events.push(event);
  }

  /** Reads a page. @returns it with the events since the request that it does not cover. */
  async during(
    read: () => Promise<ReadPage>,
  ): Promise<ReadPage & { readonly events: MessageEvent[] }> {
    const events: MessageEvent[] = [];
    this.#reads.add(events);
    try {
      const page = await read();
      const ids = new Set(page.messages.map(({ id }) => id));
      const isNews = (event: MessageEvent) =>
        event.change !== "stored" || !ids.has(event.message.id);
      return { ...page, events: events.filter(isNews) };
    } finally {
      this.#reads.delete(events);
    }
  }
}

import type { ServerEvents } from "../../api/openapi-types.ts";
import type { ReadPage } from "./read-page.ts";

type MessageEvent = ServerEvents["message"];

/** What is told of messages while a page of them is on its way: the page may be older than that. */
export class ToldMeanwhile {
  readonly #reads = new Set<MessageEvent[]>();

  add(event: MessageEvent): void {
    for (const told of this.#reads) told.push(event);
  }

  /** Reads a page. @returns it, and what was told meanwhile, without the messages that it has. */
  async during(
    read: () => Promise<ReadPage>,
  ): Promise<ReadPage & { readonly told: MessageEvent[] }> {
    const told: MessageEvent[] = [];
    this.#reads.add(told);
    try {
      const page = await read();
      const ids = new Set(page.messages.map(({ id }) => id));
      const isNews = (event: MessageEvent) =>
        event.change !== "stored" || !ids.has(event.message.id);
      return { ...page, told: told.filter(isNews) };
    } finally {
      this.#reads.delete(told);
    }
  }
}

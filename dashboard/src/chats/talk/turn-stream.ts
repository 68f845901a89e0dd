// The events of a turn: server-sent events in the response to a POST, which EventSource cannot send.
import { ProblemError } from "../../api/client.ts";
import type { TurnEvents } from "../../api/openapi-types.ts";

export type TurnEvent = {
  [Name in keyof TurnEvents]: { readonly name: Name; readonly data: TurnEvents[Name] };
}[keyof TurnEvents];

/** A queued message is refused within this time or not at all. Then its connection is closed. */
const settleMs = 1_500;

/** The events of a response as they come. Ends when the response does, also where it breaks off. */
export async function* turnEvents(response: Response): AsyncGenerator<TurnEvent, void, undefined> {
  if (response.body === null) return;
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const blocks = (rest + value).split(/\r?\n\r?\n/);
      rest = blocks.pop() ?? "";
      for (const block of blocks) {
        const event = eventOf(block);
        if (event !== undefined) yield event;
      }
    }
  } finally {
    await reader.cancel().catch(() => undefined); // it was broken already
  }
}

/**
 * Waits until a message behind another turn is refused, or is not: its turn has an event of its own. If
 * the connection breaks, the message may be queued all the same.
 *
 * @throws ProblemError it was refused.
 */
export async function settled(response: Response, controller: AbortController): Promise<void> {
  const timer = setTimeout(() => controller.abort(), settleMs);
  try {
    for await (const event of turnEvents(response)) {
      if (event.name === "error") throw new ProblemError(event.data);
      break; // it began: the feed follows it
    }
  } catch (error) {
    if (error instanceof ProblemError) throw error;
  } finally {
    clearTimeout(timer);
    controller.abort();
  }
}

/** `undefined` for a comment. Nothing here is read from `id` and `retry`: the server sends none. */
function eventOf(block: string): TurnEvent | undefined {
  let name = "";
  const data: string[] = [];
  for (const line of block.split(/\r?\n/)) {
    const [field = "", ...value] = line.split(":");
    const text = value.join(":").replace(/^ /, "");
    if (field === "event") name = text;
    if (field === "data") data.push(text);
  }
  if (name === "" || data.length === 0) return undefined;
  return { name, data: JSON.parse(data.join("\n")) } as TurnEvent;
}

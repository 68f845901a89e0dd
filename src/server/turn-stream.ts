import type { Turn, TurnProgress } from "../core/turns/turn.ts";
import type { EventStream } from "./sse.ts";
import { answerJson, messageJson, retryJson, spoken } from "./wire.ts";

/**
 * Sends a turn's progress as events: `accepted`, `notice`, `retrying`, `reasoning`, `text`, `message`,
 * then `result` or `error`. Waits
 * for the reader before each, so that nothing piles up. Disconnecting does not stop the turn.
 */
export async function sendTurn(
  turn: Turn,
  progress: AsyncIterable<TurnProgress>,
  stream: EventStream,
  failed: (error: unknown) => object,
): Promise<void> {
  try {
    for await (const item of progress) {
      if (!(await stream.flushed())) return;
      sendItem(turn, item, stream);
    }
  } catch (error) {
    stream.send("error", failed(error));
  } finally {
    stream.end();
  }
}

function sendItem(turn: Turn, item: TurnProgress, stream: EventStream): void {
  if (item.type === "queued") return; // the open stream says that already
  if (item.type === "accepted") {
    stream.send("accepted", { turn_id: turn.id, user: messageJson(item.user) });
  } else if (item.type === "message") {
    stream.send("message", { message: messageJson(item.message) });
  } else if (item.type === "result") stream.send("result", answerJson(spoken(item.answer)));
  else if (item.type === "retrying") stream.send("retrying", retryJson(item));
  else stream.send(item.type, { text: item.text });
}

/** What was taken from a progress already, and then the rest. */
export async function* resumed(
  first: IteratorResult<TurnProgress, void>,
  rest: AsyncGenerator<TurnProgress, void, undefined>,
): AsyncGenerator<TurnProgress, void, undefined> {
  if (first.done === true) return;
  yield first.value;
  yield* rest;
}

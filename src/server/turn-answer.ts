import { ThroughlineError } from "../core/errors.ts";
import type { Retry } from "../core/models/responder.ts";
import type { Turn, TurnAnswer, TurnProgress } from "../core/turns/turn.ts";
import { messageJson } from "./message-json.ts";
import type { EventStream } from "./sse.ts";

/** A turn's result as it goes over the wire. */
export function answerJson(answer: TurnAnswer) {
  const { turnId, user, assistant, session, usage, outcome, reason, detail, notices } = answer;
  return {
    turn_id: turnId,
    user: messageJson(user),
    assistant: assistant === undefined ? null : messageJson(assistant),
    session,
    usage: {
      input_tokens: usage.inputTokens ?? null,
      output_tokens: usage.outputTokens ?? null,
      cached_input_tokens: usage.cachedInputTokens,
      cost_usd: usage.costUsd ?? null,
    },
    outcome,
    notices,
    reason,
    detail,
  };
}

/** A wait for a provider, as it goes over the wire. */
export function retryJson({ reason, detail, attempt, waitMs }: Retry) {
  return { reason, detail, attempt, seconds: Math.ceil(waitMs / 1_000) };
}

/** Not a word came. */
export class ModelFailed extends ThroughlineError {
  /** What the provider said. */
  readonly providerDetail: string | undefined;

  constructor({ reason, detail }: TurnAnswer) {
    super(reason ?? "the model did not answer", { code: "THROUGHLINE_MODEL_FAILED" });
    this.providerDetail = detail;
  }
}

/**
 * Gives back what a turn came to.
 *
 * @throws ModelFailed `THROUGHLINE_MODEL_FAILED`: not a word came. The message is kept, and can
 * be answered until something else is said.
 */
export function spoken(answer: TurnAnswer): TurnAnswer {
  if (answer.outcome !== "failed" || answer.assistant !== undefined) return answer;
  throw new ModelFailed(answer);
}

/**
 * Sends a turn's progress as events: `accepted`, `notice`, `retrying`, `reasoning`, `text`, `message`,
 * then `result` or `error`. Waits
 * for the reader before each, so that nothing piles up; when the reader leaves, the turn goes on.
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
  if (item.type === "queued") return; // the stream is open: that is all there is to tell
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

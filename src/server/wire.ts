// What goes out over the wire: messages, and the results of turns.
import type { StoredMessage } from "../core/chat/message.ts";
import { ThroughlineError } from "../core/errors.ts";
import type { Retry } from "../core/models/responder.ts";
import type { TurnAnswer } from "../core/turns/turn.ts";

/**
 * A message as HTTP shows it: without what only the model that made it can use (signatures, encrypted
 * reasoning, ids of items) and without its exact form, which may be larger than the message itself.
 */
export function messageJson(message: StoredMessage): StoredMessage {
  const { provider_data: _, exact: __, ...shown } = message;
  return shown as StoredMessage;
}

/** A turn's result as it goes over the wire. */
export function answerJson(answer: TurnAnswer) {
  const { turnId, user, assistant, period, usage, outcome, reason, detail, notices } = answer;
  return {
    turn_id: turnId,
    user: messageJson(user),
    assistant: assistant === undefined ? null : messageJson(assistant),
    session: period,
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

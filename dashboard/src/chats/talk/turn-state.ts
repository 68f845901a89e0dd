// How the events of a turn, and of messages, change what is shown.
import { newKey, ProblemError } from "../../api/client.ts";
import type { ServerEvents } from "../../api/openapi-types.ts";
import {
  type FeedState,
  type Live,
  withAnswer,
  withMessage,
  withoutWaiting,
} from "./feed-state.ts";
import type { TurnEvent } from "./turn-stream.ts";

/** The change by an event of the turn that is followed. */
export function afterTurnEvent(state: FeedState, event: TurnEvent): Partial<FeedState> {
  const { live, messages, waiting, notices } = state;
  switch (event.name) {
    case "text":
    case "reasoning":
      return live === undefined ? {} : { live: withWords(live, event.name, event.data.text) };
    case "message": {
      const { message } = event.data;
      const said = withMessage(messages, message);
      // Text before a tool call is now part of the call's message.
      const isResult = message.role === "tool" || live === undefined;
      return isResult ? { messages: said } : { messages: said, live: { ...live, ...nothingSaid } };
    }
    case "retrying": {
      const atMs = Date.now() + event.data.seconds * 1_000;
      return live === undefined ? {} : { live: { ...live, retrying: { ...event.data, atMs } } };
    }
    case "notice":
      return { notices: [...notices, event.data.text] };
    case "accepted": {
      const { turn_id: turnId, user } = event.data;
      return {
        messages: withMessage(messages, user),
        waiting: withoutWaiting(waiting, user.id),
        live: { turnId, ...nothingSaid, isStopping: live?.isStopping ?? false },
        followed: { turnId, key: newKey() },
        notices: [],
        trouble: undefined,
      };
    }
    case "result": {
      const { assistant, reason, detail, outcome } = event.data;
      const said = assistant === null ? messages : withAnswer(messages, assistant);
      // The answer itself shows that it was stopped.
      const isNews = reason !== undefined && assistant?.partial_reason !== "stopped";
      const over = { messages: said, live: undefined };
      if (!isNews) return over;
      if (outcome !== "failed") return { ...over, notices: [...notices, reason] };
      return { ...over, trouble: { error: modelFailed(reason, detail) } };
    }
    case "error": {
      // A message that was not stored shows its own error.
      const isStored = live !== undefined;
      const trouble = isStored ? { error: new ProblemError(event.data) } : undefined;
      return { live: undefined, trouble };
    }
  }
}

/** More text also means that the provider is not waited for. */
function withWords(live: Live, kind: "text" | "reasoning", more: string): Live {
  return { ...live, [kind]: live[kind] + more, retrying: undefined };
}

/** The change by an event of a message: stored, taken back or erased. After a choice the chat is read. */
export function afterMessage(
  { messages, waiting, live }: FeedState,
  event: ServerEvents["message"],
): Partial<FeedState> {
  if (event.change === "stored") {
    const { message } = event;
    const isOfLive = live !== undefined && message.role !== "user" && message.turn === live.turnId;
    const isStep = message.role === "tool" || message.tool_calls !== undefined;
    // The stream of the turn has it too, at its place in the text.
    if (isOfLive && isStep && live.isBroken !== true) return {};
    return {
      messages: withAnswer(messages, message),
      waiting: message.role === "user" ? withoutWaiting(waiting, message.id) : waiting,
      live: isOfLive && !isStep ? undefined : live,
    };
  }
  if (event.change === "chosen") return { followed: undefined };
  if (event.change === "taken_back") {
    return { messages: messages.filter(({ id }) => id !== event.message_id) };
  }
  const gone = messages.findLast(({ id }) => id === event.message_id);
  if (gone === undefined) return {};
  const { id, seq } = gone;
  const mark = { id, seq, role: "system", timestamp: "", content: "", redacted: true } as const;
  return { messages: withMessage(messages, mark) };
}

export const nothingSaid = { text: "", reasoning: "", retrying: undefined } as const;

/** A partial answer as the problem that it would be without any text. */
function modelFailed(detail: string, providerDetail: string | undefined): ProblemError {
  const code = "THROUGHLINE_MODEL_FAILED";
  return new ProblemError({ status: 502, code, detail, provider_detail: providerDetail });
}

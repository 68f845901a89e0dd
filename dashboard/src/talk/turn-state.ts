// What is told of a turn, and of messages, as a change of what is shown.
import { ProblemError } from "../api/client.ts";
import type { ServerEvents } from "../api/types.ts";
import { type FeedState, withAnswer, withMessage, withoutWaiting } from "./feed-state.ts";
import { newKey } from "./message-key.ts";
import type { TurnEvent } from "./turn-stream.ts";

const maxNotes = 50;

/** What changes with an event of the turn that is followed. */
export function afterTurnEvent(state: FeedState, event: TurnEvent): Partial<FeedState> {
  const { live, messages, waiting } = state;
  switch (event.name) {
    case "text":
      return live === undefined ? {} : { live: { ...live, text: live.text + event.data.text } };
    case "notice":
      return withNote(state, event.data.text);
    case "accepted": {
      const { turn_id: turnId, user } = event.data;
      return {
        messages: withMessage(messages, user),
        waiting: withoutWaiting(waiting, user, messages),
        live: { turnId, text: "", isStopping: live?.isStopping ?? false },
        followed: { turnId, key: newKey() },
      };
    }
    case "result": {
      const { assistant, reason } = event.data;
      const told = assistant === null ? messages : withAnswer(messages, assistant);
      // That it was stopped stands with the answer.
      const isNews = reason !== undefined && assistant?.partial_reason !== "stopped";
      const noted = isNews ? withNote({ ...state, messages: told }, reason) : {};
      return { messages: told, live: undefined, ...noted };
    }
    case "error": {
      // A message that was not stored says itself what became of it.
      const isStored = live !== undefined;
      const trouble = isStored ? { error: new ProblemError(event.data) } : undefined;
      return { live: undefined, trouble };
    }
  }
}

/** What changes when the server tells of a message: stored, or hidden or erased. */
export function afterMessage(
  { messages, waiting, live }: FeedState,
  event: ServerEvents["message"],
): Partial<FeedState> {
  if (event.change === "stored") {
    const { message } = event;
    const isAnswer = message.role === "assistant" && message.turn === live?.turnId;
    return {
      messages: withAnswer(messages, message),
      waiting: message.role === "user" ? withoutWaiting(waiting, message, messages) : waiting,
      live: isAnswer ? undefined : live,
    };
  }
  const gone = messages.findLast(({ id }) => id === event.message_id);
  if (gone === undefined) return {};
  return { messages: withMessage(messages, { ...gone, content: "", redacted: true }) };
}

function withNote({ notes, messages }: FeedState, text: string): Pick<FeedState, "notes"> {
  const note = { key: newKey(), text, afterSeq: messages.at(-1)?.seq ?? 0 };
  return { notes: [...notes, note].slice(-maxNotes) };
}

// The data of server-sent events by the names of the events, for the description of the API alone: a
// stream itself is described as text.
import { z } from "zod";
import { answer, message, named, problem } from "./answer-schemas.ts";

const text = z.object({ text: z.string() });
const retrying = named(
  "Retrying",
  {
    reason: z.string(),
    detail: z.string().optional().describe("The provider's own words."),
    attempt: z.int().describe("The number of the call that follows: 2 for the first retry."),
    seconds: z.int().describe("The wait before that call, in seconds."),
  },
  "The provider could not take the call. It is called again after a wait.",
);

/** What a turn's own stream has. */
export const TurnEvents = named(
  "TurnEvents",
  {
    accepted: z.object({ turn_id: z.string(), user: message }),
    notice: text,
    reasoning: text,
    text,
    message: z
      .object({ message })
      .describe("A stored tool call, with the text before it, or a tool's result."),
    retrying,
    result: answer,
    error: problem,
  },
  "The data of each event of a turn, by the event's name.",
);

/** What the server itself publishes to `GET /api/events`. */
export const events = {
  message: z.union([
    z.object({ change: z.literal("stored"), chat_id: z.string(), message }),
    z.object({
      change: z.enum(["taken_back", "erased", "chosen"]),
      chat_id: z.string(),
      message_id: z.string(),
    }),
  ]),
  turn: z.object({
    chat_id: z.string(),
    turn_id: z.string(),
    state: z.enum(["running", "answered", "interrupted", "failed"]),
    code: z.string().optional().describe("Why nothing could be stored."),
  }),
  retrying: z
    .object({ ...retrying.shape, chat_id: z.string(), turn_id: z.string() })
    .describe("A turn waits before it calls its provider again."),
  session: z.object({
    chat_id: z.string(),
    change: z.enum([
      "ended",
      "reset",
      "provider_reset",
      "cleared",
      "renamed",
      "metadata",
      "forked",
      "forgotten",
    ]),
  }),
  repair: z
    .looseObject({ at: z.string(), key: z.string(), kind: z.string() })
    .describe("Stored bytes were damaged or missing, and what was done about it."),
};

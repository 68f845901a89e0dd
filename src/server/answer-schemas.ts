// What goes out over the wire, for the description of the API alone: it is loaded when that is asked
// for. The names are the seeds': snake_case.
import { z } from "zod";
import { partialReasons } from "../core/chat/message.ts";

/** An object of these fields, by its name in the description. */
export function named<Fields extends z.ZodRawShape>(
  id: string,
  fields: Fields,
  description?: string,
) {
  return z.object(fields).meta(description === undefined ? { id } : { id, description });
}

export const stamp = z.string().describe("ISO 8601, UTC; empty if it is not known.");
export const count = z.int().min(0);
export const more = z
  .literal(true)
  .optional()
  .describe(
    "There are more, or there may be: an answer holds 16 MiB, and a search looks at 1,000 hits.",
  );
const role = z.enum(["user", "assistant", "tool", "system"]);

const answerStats = named(
  "AnswerStats",
  {
    input_tokens: z.int().nullable(),
    output_tokens: z.int().nullable(),
    cached_input_tokens: z.int().optional(),
    cost_usd: z.number().nullable(),
    latency_ms: z.int(),
    first_word_ms: z.int().nullable(),
  },
  "What an answer used. `null`: not known; `cost_usd` is also `null` if the model has no price.",
);

export const message = z
  .looseObject({
    id: z.string(),
    seq: z.int().min(1).describe("Its place in the chat's log, from 1."),
    role,
    content: z.string(),
    timestamp: stamp,
    turn: z.string().optional(),
    provider: z.string().optional(),
    model: z.string().optional(),
    partial: z.literal(true).optional().describe("The text was cut short."),
    partial_reason: z.enum(partialReasons).optional(),
    reasoning_content: z
      .string()
      .optional()
      .describe("What the model thought before it wrote this."),
    hidden: z.literal(true).optional().describe("Shown on request only."),
    synthetic: z
      .string()
      .optional()
      .describe("No person wrote it: what the model was told, such as `pat_hint`."),
    tool_calls: z
      .array(z.unknown())
      .optional()
      .describe("The tools that the model called after this text."),
    tool_call_id: z.string().optional().describe("On a tool's result: the id of the call."),
    name: z.string().optional().describe("On a tool's result: the tool. Else: who said it."),
    is_error: z.literal(true).optional().describe("The tool failed."),
    stats: answerStats.optional(),
    attachments: z
      .array(
        z
          .looseObject({
            name: z.string(),
            type: z.string(),
            size: count.optional(),
            sha256: z.string().optional(),
          })
          .meta({
            id: "Attachment",
            description: "A file of the message. Its bytes can be read if it has a `sha256`.",
          }),
      )
      .optional(),
    replaced: z.literal(true).optional().describe("It was replaced by another answer."),
    redacted: z
      .literal(true)
      .optional()
      .describe("It was erased: the mark where it stood. Its `role` is `system`."),
    variants: z
      .array(z.string())
      .optional()
      .describe(
        "In the newest page, on the newest reply if it was regenerated: the ids of all replies to its " +
          "message that can be chosen, oldest first, its own among them.",
      ),
  })
  .meta({ id: "Message" });

export const messageIds = named("MessageIds", { ids: z.array(z.string()) });

export const messagePage = named(
  "MessagePage",
  { messages: z.array(message), before: z.int().optional() },
  "Oldest first. `before` asks for the page before it.",
);

const row = {
  chat_id: z.string(),
  provider: z.string(),
  model: z.string(),
  created_at: stamp,
  last_active: stamp.describe("When a person last acted."),
  message_count: count.describe("All messages of the chat that are not cleared."),
  generation: count.describe("Counts the sessions of the chat; 0: none yet."),
  title: z.string(),
  unanswered: z.boolean().describe("A message waits for its answer."),
  damaged: z.boolean().describe("Stored bytes of it were found damaged."),
};
export const chatRow = named("ChatRow", row);
export const chatList = named(
  "ChatList",
  {
    chats: z.array(
      named("ChatListRow", {
        ...row,
        match: message.optional(),
        match_count: count.optional().describe("With `query`; up to 100."),
      }),
    ),
    cursor: z.string().optional(),
    more,
  },
  "The chat in which a person acted last comes first.",
);

const bucket = z
  .looseObject({
    session_id: z.string(),
    message_count: count.describe("Answers of this provider in this session."),
    total_cost_usd: z.number().describe("The sum of the known costs."),
    total_tokens: z.int(),
    unpriced_tokens: count
      .optional()
      .describe("How many of the tokens have no known cost: their model has no price."),
  })
  .meta({ id: "ProviderSession" });
const sessionFields = {
  chat_id: z.string(),
  provider: z.string(),
  model: z.string(),
  created_at: stamp,
  last_active: stamp,
  generation: count,
  provider_sessions: z.record(z.string(), bucket),
  session_id: z.string().describe("The provider's own; empty: none yet."),
  message_count: count.describe("With this provider in this session."),
  total_cost_usd: z.number(),
  total_tokens: z.int(),
};
export const session = named("Session", sessionFields);
const linkedChat = named("LinkedChat", {
  chat_id: z.string(),
  title: z.string(),
  created_at: stamp,
  message_id: z.string().optional().describe("The last message that was copied; absent: none was."),
  seq: z.int().optional().describe("The place of that message in the chat that was copied."),
});
export const chat = named("Chat", {
  ...sessionFields,
  title: z.string(),
  metadata: z.record(z.string(), z.unknown()).describe("The user's own."),
  last_consolidated: count.describe("How many of the messages were summarised elsewhere."),
  damaged: z.boolean(),
  running: z.boolean().describe("A turn is running: it can be followed or stopped."),
  unanswered_ids: z
    .array(z.string())
    .describe("Messages without an answer, oldest first, the running one too."),
  messages_total: count.describe("All messages of the chat that are not cleared."),
  row: chatRow.describe("The chat as the list has it."),
  forked_from: linkedChat
    .optional()
    .describe("The chat that this one was copied from, if it is there."),
  branches: z.array(linkedChat).describe("Up to 100 chats copied from this one, oldest first."),
});

export const answer = named("Answer", {
  turn_id: z.string(),
  user: message,
  assistant: z.union([message, z.null()]).describe("`null`: it was stopped before the first word."),
  session,
  usage: z.object({
    input_tokens: z.int().nullable(),
    output_tokens: z.int().nullable(),
    cached_input_tokens: z.int().optional(),
    cost_usd: z
      .number()
      .nullable()
      .describe("`null`: not known, for example because the model has no price."),
  }),
  outcome: z.enum(["answered", "interrupted", "failed"]),
  reason: z.string().optional().describe("Why the answer is not complete."),
  detail: z
    .string()
    .optional()
    .describe("What the model's provider said about it, in its own words."),
  notices: z.array(z.string()).describe("For the person, beside the reply."),
});

const isStopped = z.boolean().describe("The answer is not wanted: end the turn within 5 s.");
const resolution = z.object({
  session,
  session_id: z.string().describe("What the provider can resume; empty: nothing."),
  is_new: z.boolean().describe("The provider has nothing to resume."),
  reason: z.string().describe("Why the session continues, or another one began."),
});
export const openedTurn = resolution
  .extend({
    user: message,
    messages: z.array(message).describe("What the turn has stored since: its steps and answer."),
    attempt: count.describe("2 or more: an attempt before was cut off or failed."),
    instructions: z.string().describe("The persona and the facts, for the system prompt."),
    context: z.string().describe("What changes from turn to turn, for the prompt's end."),
    stopped: isStopped,
  })
  .partial()
  .extend({ state: z.enum(["open", "running", "answered"]), turn_id: z.string() })
  .meta({ id: "OpenedTurn" });
const openTurn = { turn_id: z.string(), state: z.enum(["running", "unanswered"]) };
export const openTurns = named("OpenTurns", { turns: z.array(z.object(openTurn)) });
export const keptSteps = messageIds.extend({ stopped: isStopped }).meta({ id: "KeptSteps" });
export const resolved = resolution
  .extend({ ended: z.enum(["period", "provider", "nothing"]), bucket_generation: count })
  .meta({ id: "ResolvedSession" });
export const usageCounted = session
  .extend({ counted: z.boolean().describe("`false`: it is of a session that has ended.") })
  .meta({ id: "UsageCounted" });

export const stopped = named("Stopped", { stopped: z.boolean() });
export const dismissed = named("Dismissed", { dismissed: count });
export const removed = named("MessageReceipt", {
  chat_id: z.string(),
  message_id: z.string(),
  erased: z.literal(true),
  copies: z.array(z.string()).describe("Other chats from which the same message was removed."),
  removed: z.array(z.object({ place: z.string(), count })),
  unreachable: z
    .array(z.string())
    .describe("Places that may still hold it. The same request tries them again."),
});
export const forgetReceipt = named("ForgetReceipt", {
  chat_id: z.string(),
  at: stamp,
  removed: z.array(z.object({ place: z.string(), count })),
  unreachable: z.array(z.string()),
  forks: z
    .array(z.string())
    .describe("Chats with messages that were copied from this one. They stay: forget them too."),
});

export const matches = named("Matches", {
  matches: z.array(z.object({ id: z.string(), seq: count, timestamp: stamp })),
  more,
});

export const hits = named("Hits", {
  hits: z.array(z.object({ chat_id: z.string(), message })),
  more,
});

const offeredModel = named("OfferedModel", {
  model: z.string(),
  size_bytes: count.optional().describe("On the disk of its server."),
  takes_pictures: z.boolean().optional().describe("Absent: not known."),
});
export const modelList = named("ModelList", {
  standard: z
    .object({ provider: z.string(), model: z.string() })
    .describe("What new sessions run on. `offline`: no model is set up."),
  providers: z.array(
    named("ProviderModels", {
      provider: z.string(),
      models: z.array(offeredModel),
      error: z.string().optional().describe("Why the provider's own list is missing."),
    }),
  ),
});

export const memory = named(
  "WorkingMemory",
  {
    chats: z.array(
      z.object({
        chat_id: z.string(),
        capacity: count,
        count,
        full: z.boolean(),
        empty: z.boolean(),
        session_age_seconds: z.number(),
        last_turn: count,
        summary: z.string(),
      }),
    ),
  },
  "What was just said, in this process only.",
);

export const memoryOfChat = named("WorkingMemoryOfChat", {
  chat_id: z.string(),
  utterances: z.array(z.string()),
  intents: z.array(z.string()).describe("Such as `GREETING`."),
  responses: z.array(z.string()).describe("Empty where nothing was answered."),
  interactions: z.array(
    z.object({
      turn: count,
      timestamp: stamp,
      utterance: z.string(),
      intent: z.string(),
      response: z.string(),
      outcome: z.enum(["answered", "interrupted", "failed"]),
    }),
  ),
});

/** Of a text file that people edit by hand and over HTTP. */
export const editedFields = {
  tokens: count.describe("An estimate of what models get of it."),
  version: z.string().describe("Of the file; empty: there is none to read."),
  problem: z
    .string()
    .nullable()
    .describe("Why the file that is there cannot be used, nor edited here."),
  editable: z.boolean().describe("`false`: this server keeps nothing."),
  this_server_only: z
    .boolean()
    .describe("Other servers use the same database; each of them has a file of its own."),
  max_bytes: count,
};

const promptMessage = named("PromptMessage", {
  role: z.enum(["user", "assistant", "tool"]),
  content: z.string(),
  tokens: count,
  tool_calls: z.array(z.unknown()).optional(),
  tool_call_id: z.string().optional(),
  name: z.string().optional(),
  is_error: z.literal(true).optional(),
});

export const nextPrompt = named(
  "NextPrompt",
  {
    chat_id: z.string(),
    provider: z.string(),
    model: z.string(),
    window: z.int().nullable().describe("Of the model, in tokens."),
    sections: z
      .array(
        named("PromptSection", {
          name: z
            .enum(["persona", "facts", "tools", "history", "context", "message"])
            .describe(
              "`context`: what changes from turn to turn. `message`: the newest message, with those " +
                "before it that nothing has answered.",
            ),
          tokens: count,
          text: z.string().optional(),
          messages: z.array(promptMessage).optional().describe("In place of `text`, of `history`."),
        }),
      )
      .describe("In the order in which the model gets them. Empty ones are left out."),
    total_tokens: count,
    history_tokens: count.describe("What the history and the message may take."),
    reported_tokens: z.int().nullable().describe("What the provider counted for the last prompt."),
    resumes: z
      .boolean()
      .describe("The provider continues its own session: it has the history already."),
    ends: z
      .enum(["period", "provider", "nothing"])
      .describe("What the next message ends: the session, the provider's part of it, or nothing."),
    reason: z.string(),
  },
  "Tokens are estimates.",
);

export const health = named("Health", {
  status: z.enum(["ok", "degraded"]),
  version: z.string(),
  uptime_seconds: z.number(),
  repairs: count.describe("How often stored bytes were found damaged or missing."),
});

export const ready = named("Ready", { status: z.literal("ready") });

export const problem = named("Problem", {
  type: z.string(),
  title: z.string(),
  status: z.int(),
  // For people. Never a path of this machine, a stack, or what somebody said.
  detail: z.string(),
  code: z.string().describe("What to branch on."),
  turn_id: z.string().optional(),
  // One line without what looks like a key.
  provider_detail: z
    .string()
    .optional()
    .describe("What the model's provider said, in its own words."),
});

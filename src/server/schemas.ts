// What comes over the wire, made when a route is first asked: all of it takes a while. The names are the
// seeds': snake_case.
import { z } from "zod";
import { roles } from "../core/chat/message.ts";
import { answersFrom } from "./operation.ts";

/** The schema of an answer of the server's own. */
export const schemaOf = answersFrom(() => import("./answer-schemas.ts"));

/** A whole number as it stands in a query: nothing that merely begins or converts to one. */
export function whole(min: number, max: number) {
  const wanted = `must be a whole number from ${min} to ${max}`;
  return z
    .string()
    .regex(/^(0|[1-9]\d{0,15})$/, wanted)
    .transform(Number)
    .refine((value) => value >= min && value <= max, wanted)
    .meta({ type: "integer", minimum: min, maximum: max });
}

export const limit = (most = 1_000) =>
  whole(1, most).optional().meta({ description: "50 when absent." });
export const before = () =>
  whole(0, Number.MAX_SAFE_INTEGER)
    .optional()
    .meta({ description: "The `before` of the page that came after this one." });

export const ifExists = () =>
  z.enum(["true", "false"], "must be true or false").optional().meta({
    description: "`true`: if there is no such chat, the answer is 204 instead of 404.",
  });

export const text = (max: number) =>
  z.string().min(1, "must not be empty").max(max, `must be at most ${max} characters`);

export const query = () =>
  text(1_000).meta({
    description: "Words. A message must contain all of them; case and accents do not matter.",
  });

export const prefix = () =>
  z
    .enum(["true", "false"], "must be true or false")
    .optional()
    .meta({
      description:
        "`true`: the last word is the beginning of a word, unless white space ends it: for a query that " +
        "is being typed.",
    });

/** A provider's or model's name. Never an address: what is said goes only where the operator chose. */
const name = () =>
  text(200).refine(
    (value) => !/^https?:/i.test(value) && !/[\s\p{Cc}]/u.test(value),
    "must be a name without spaces, and no address",
  );

const id = () => z.string().meta({ description: "Percent-encoded, as every part of a path." });
export const chatParams = () =>
  z.object({
    id: id().meta({
      description:
        "The chat's id, percent-encoded: 1 to 1,024 bytes of text. The ids `.` and `..` cannot be used in " +
        "a path.",
    }),
  });
export const messageParams = () => chatParams().extend({ message_id: id() });
export const turnParams = () =>
  chatParams().extend({ turn: id().meta({ description: "The id of the turn's message." }) });
export const attachmentParams = () =>
  messageParams().extend({
    sha256: z
      .string()
      .regex(/^[0-9a-f]{64}$/, "must be 64 lower-case hex digits")
      .meta({ description: "Of the file's bytes, as the message names it." }),
  });

export const promptQuery = () =>
  z.strictObject({
    content: z.string().max(8_000, "must be at most 8000 characters").optional().meta({
      description: "A message that is being typed. Without it the prompt has no newest message.",
    }),
    provider: name().optional().meta({ description: "The session's when absent." }),
    model: name().optional().meta({ description: "The session's when absent." }),
  });

/** Of a text that people edit. */
export const version = () =>
  z.string().max(64, "must be at most 64 characters").meta({
    description: "The `version` that was read. If the text was changed since, this is 409.",
  });

export const newMessage = () =>
  z
    .strictObject({
      content: z.string().meta({ description: "What the person says. Kept word for word." }),
      name: text(200).optional().meta({ description: "Who of a group says it. On one line." }),
      provider: name().optional().meta({ description: "The session's when absent." }),
      model: name().optional().meta({ description: "The session's when absent." }),
    })
    .meta({ id: "NewMessage" });
const toolCall = () =>
  z.strictObject({
    id: text(1_024),
    type: z.literal("function"),
    function: z.strictObject({
      name: text(1_024),
      arguments: z.string().meta({ description: "JSON, as the model wrote it." }),
    }),
  });
export const appendBody = () =>
  z
    .strictObject({
      messages: z
        .array(
          z.strictObject({
            id: text(256).optional().meta({
              description: "A message that is sent again under its id is stored once.",
            }),
            role: z.enum(roles),
            content: z.string(),
            timestamp: z.string().optional().meta({
              description: "ISO 8601 with a zone. Now, when absent.",
            }),
            tool_calls: z.array(toolCall()).optional(),
            tool_call_id: text(1_024).optional().meta({
              description: "On a tool's result: the id of the call.",
            }),
            name: text(1_024).optional().meta({
              description:
                "On a tool's result: the tool. On a user's message: who of a group said it.",
            }),
            is_error: z.literal(true).optional().meta({ description: "The tool failed." }),
          }),
        )
        .min(1, "must not be empty")
        .max(1_000),
    })
    .meta({ id: "Append" });
export const takeBackBody = () =>
  z
    .strictObject({ ids: z.array(text(256)).min(1, "must not be empty").max(500) })
    .meta({ id: "TakeBack" });
export const openTurnBody = () =>
  z
    .strictObject({
      id: text(200).optional().meta({
        description: "Of the message: makes a repeated request the same turn. Made up when absent.",
      }),
      content: z.string().optional().meta({
        description: "What the person says. Absent: a stored message is taken up.",
      }),
      name: text(200).optional().meta({ description: "Who of a group says it. On one line." }),
      provider: name().meta({ description: "Who makes the answer: any name." }),
      model: name(),
    })
    .meta({
      id: "OpenTurn",
      examples: [{ id: "m1", content: "Is the lamp on?", provider: "openai", model: "gpt-5-mini" }],
    });
/** Their roles are checked by the turn. */
export const turnSteps = () =>
  z.strictObject({ messages: appendBody().shape.messages.meta({ description: saidByTurn }) }).meta({
    id: "TurnSteps",
    examples: [{ messages: [{ ...answerExample, tool_calls: [callExample] }] }],
  });
const answerExample = { id: "m1-1", role: "assistant", content: "It is on." };
const callFunction = { name: "lamp", arguments: "{}" };
const callExample = { id: "c1", type: "function", function: callFunction };
const usageExample = { input_tokens: 40, output_tokens: 5, cost_usd: 0.001 };
const saidByTurn = "Messages of the roles `assistant` and `tool`, in order.";
const tokens = () => z.int().min(0).nullable().optional();
export const turnEndBody = () =>
  z
    .strictObject({
      messages: z
        .array(appendBody().shape.messages.element)
        .max(1_000)
        .optional()
        .meta({
          description: `${saidByTurn} One that is stored already, by its id, is passed over.`,
        }),
      outcome: z.enum(["answered", "interrupted", "failed"]).optional().meta({
        description: "`answered` when absent. The others mark the last message as partial.",
      }),
      partial_reason: z.enum(["length", "content_filter"]).optional().meta({
        description: "The model cut the last message for this reason.",
      }),
      usage: z
        .strictObject({
          input_tokens: tokens(),
          output_tokens: tokens(),
          cached_input_tokens: z.int().min(0).optional(),
          cost_usd: z.number().min(0).nullable().optional(),
        })
        .optional()
        .meta({ description: "What the turn used. What is absent or `null` is not known." }),
      model: name().optional().meta({ description: "That of the turn when absent." }),
      session_id: z.string().max(1_024).optional().meta({
        description: "What the provider resumes next time. Absent: what it was.",
      }),
      used_context: z.boolean().optional().meta({
        description: "The model was given `context`: what it says once is not said again.",
      }),
    })
    .meta({
      id: "TurnEnd",
      examples: [{ messages: [answerExample], usage: usageExample, session_id: "session-1" }],
    });
export const resolveBody = () =>
  z
    .strictObject({
      provider: name().optional().meta({ description: "That of the session when absent." }),
      model: name().optional().meta({ description: "That of the session when absent." }),
    })
    .meta({ id: "ResolveSession" });
export const usageBody = () =>
  z
    .strictObject({
      id: text(256).optional().meta({
        description: "Counts a repeated request once. Send it with both generations.",
      }),
      provider: name().optional().meta({ description: "That of the session when absent." }),
      model: name().optional().meta({ description: "That of the session when absent." }),
      messages: z.int().optional().meta({ description: "1 when absent. Negative corrects." }),
      tokens: z.int().optional().meta({ description: "0 when absent. Negative corrects." }),
      cost_usd: z.number().nullable().optional().meta({
        description: "0 when absent; `null`: not known. Negative corrects.",
      }),
      session_id: z.string().max(1_024).optional().meta({
        description: "What the provider resumes next time. Absent: what it was.",
      }),
      generation: z.int().min(1).optional().meta({
        description:
          "Of the session, as `resolve` answered it: usage that comes late is not counted.",
      }),
      bucket_generation: z
        .int()
        .min(1)
        .optional()
        .meta({ description: "The same of its provider." }),
    })
    .meta({ id: "SessionUsage" });
export const consolidatedBody = () =>
  z
    .strictObject({
      last_consolidated: z.int().min(0).meta({
        description: "How many messages from the start were summarised elsewhere.",
      }),
    })
    .meta({ id: "Consolidated" });
export const compactBody = () =>
  z
    .strictObject({
      up_to_seq: z.int().min(1).meta({
        description: "The `seq` of the last message that the summary stands for.",
      }),
      summary: z.string().meta({ description: "What models get in place of those messages." }),
    })
    .meta({ id: "Compact" });
export const renameBody = () =>
  z
    .strictObject({
      title: z
        .string()
        .max(1_000)
        .meta({ description: "Cut at 120 characters. Empty: the first thing that was said." }),
    })
    .meta({ id: "Rename" });
export const metadataBody = () =>
  z
    .strictObject({
      metadata: z.unknown().meta({
        type: "object",
        description:
          "Any JSON object. `user_timezone`, an IANA zone, is where this chat's days begin.",
      }),
    })
    .meta({ id: "ChatMetadata" });
export const retryBody = () =>
  z
    .strictObject({
      message_id: text(256).optional().meta({
        description: "The id of the newest message, so that no other is retried by mistake.",
      }),
      provider: name().optional(),
      model: name().optional(),
    })
    .meta({ id: "Retry" });
export const answerBody = () =>
  z
    .strictObject({ provider: name().optional(), model: name().optional() })
    .meta({ id: "Answering", examples: [{ provider: "openai", model: "gpt-5-mini" }] });
export const resetBody = () =>
  z
    .strictObject({
      provider: name().optional().meta({
        description: "The provider to start over with. Without it: the provider of the next turn.",
      }),
      all: z.boolean().optional().meta({
        description: "Begin a new session with every provider; not together with `provider`.",
      }),
    })
    .meta({ id: "Reset" });
export const forkBody = () =>
  z
    .strictObject({
      message_id: text(256).optional().meta({
        description: "The last message to copy. Without it none is, for another beginning.",
      }),
      chat_id: text(1_024)
        .refine((id) => !/^\.{1,2}$/.test(id), "must not be . or ..: no path leads there")
        .meta({ description: "The new chat: its id must not be in use, nor be `.` or `..`." }),
    })
    .meta({ id: "Fork" });
export const signInBody = () => z.strictObject({ code: text(64) }).meta({ id: "SignIn" });

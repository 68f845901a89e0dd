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

export const limit = (most = 1_000) => whole(1, most).optional().describe("50 when absent.");
export const before = () =>
  whole(0, Number.MAX_SAFE_INTEGER)
    .optional()
    .describe("The `before` of the page that came after this one.");

export const flag = () => z.enum(["true", "false"], "must be true or false").optional();
export const ifExists = () =>
  flag().describe("`true`: if there is no such chat, the answer is 204 instead of 404.");

export const text = (max: number) =>
  z.string().min(1, "must not be empty").max(max, `must be at most ${max} characters`);

export const query = () =>
  text(1_000).describe(
    "Words. A message must contain all of them; case and accents do not matter.",
  );
export const prefix = () =>
  flag().describe("`true`: the last word is the beginning of a word, unless white space ends it.");

/** A provider's or model's name. Never an address: what is said goes only where the operator chose. */
export const name = () =>
  text(200).refine(
    (value) => !/^https?:/i.test(value) && !/[\s\p{Cc}]/u.test(value),
    "must be a name without spaces, and no address",
  );

/** The same, of a session. */
export const named = () => name().optional().describe("The session's when absent.");

/** A body of JSON with these fields and no other. */
export const body = <Fields extends z.ZodRawShape>(id: string, fields: Fields) =>
  z.strictObject(fields).meta({ id });

/** Of a text that people edit. */
export const version = () =>
  z
    .string()
    .max(64, "must be at most 64 characters")
    .describe("The `version` that was read. If the text was changed since, this is 409.");

export const resetBody = () =>
  body("Reset", {
    provider: name()
      .optional()
      .describe("The provider to start over with. Without it: the provider of the next turn."),
    all: z
      .boolean()
      .optional()
      .describe("Begin a new session with every provider; not together with `provider`."),
  });

const toolCall = () =>
  z.strictObject({
    id: text(1_024),
    type: z.literal("function"),
    function: z.strictObject({
      name: text(1_024),
      arguments: z.string().meta({ description: "JSON, as the model wrote it." }),
    }),
  });

/** Fields of a message that only we write. */
const ours = ["turn", "hidden", "exact", "attachments", "provider_data"];
export const appendBody = () =>
  z
    .strictObject({
      client: text(64).optional().meta({
        description: "The client whose run says this: see `POST /api/session`.",
      }),
      heard: z.boolean().optional().meta({
        description: "`false`: only stored, as for words of long ago that have no `timestamp`.",
      }),
      messages: z
        .array(
          z
            .looseObject({
              id: text(256).optional().meta({
                description: "A message that is sent again under its id is stored once.",
              }),
              role: z
                .string()
                .regex(new RegExp(`^(${roles.join("|")})$`, "i"), `must be ${roles.join(", ")}`)
                .meta({ enum: [...roles], description: "In upper or lower case." }),
              content: z.string(),
              timestamp: z.union([z.string(), z.number()]).optional().meta({
                description: "ISO 8601 with a zone, or seconds since 1970. Now, when absent.",
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
              synthetic: text(256).optional().meta({
                description: "Set when no person said it: what it is, such as `pat_hint`.",
              }),
            })
            .refine(
              (message) => !ours.some((name) => name in message),
              `${ours.join(", ")} are fields that only Throughline writes`,
            ),
        )
        .min(1, "must not be empty")
        .max(1_000),
    })
    .meta({ id: "Append" });

export const answerBody = () =>
  body("Answering", { provider: name().optional(), model: name().optional() });

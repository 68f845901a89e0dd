// What people react to, as it comes over the wire: see the server's schemas.
import { z } from "zod";
import { answersFrom } from "../../server/operation.ts";
import { limit } from "../../server/schemas.ts";

/** The schema of an answer about reactions and packages. */
export const schemaOf = answersFrom(() => import("./answer-schemas.ts"));

const text = (min: number, max: number) => z.string().min(min).max(max);

const consentFields = () => ({
  messages: z.boolean(),
  frames: z.boolean(),
  audio: z.boolean(),
  upload: z.boolean(),
  export: z.boolean(),
});
export const consentBody = () =>
  z
    .strictObject({
      ...z.object(consentFields()).partial().shape,
      wording: text(1, 2_000)
        .optional()
        .meta({ description: "What the person was shown: needed for pictures and sound." }),
      by: text(1, 256).optional(),
    })
    .meta({ id: "ConsentInput", description: "Anything left out counts as refused." });
export const reaction = () =>
  z
    .strictObject({
      sentiment: z.enum(["positive", "negative"]),
      what: text(1, 2_000).meta({ description: "What was liked or disliked." }),
      trigger: z.string().max(500).optional(),
      channel: z.enum(["touch", "speech", "text", "button", "other"]).optional(),
      score: z.number().min(-1).max(1).optional(),
      correction: z
        .strictObject({ text: text(1, 8_000), kind: z.enum(["replacement", "note"]) })
        .optional(),
      chat_id: text(1, 1_024).optional().meta({ description: "Of the newest message if absent." }),
      target_message_id: text(1, 256)
        .optional()
        .meta({ description: "The answer that it is about; if absent, the last one." }),
      post_roll_ms: z.int().min(0).max(30_000).optional(),
    })
    .meta({ id: "Reaction" });
const whether = (says: string) =>
  z.enum(["true", "false"], "must be true or false").optional().meta({ description: says });
export const packageFilter = () =>
  z.strictObject({
    limit: limit(500),
    cursor: z.string().optional(),
    sentiment: z.enum(["positive", "negative"]).optional(),
    media: whether("Only those with pictures or sound, or only those without."),
    preserved: whether("Only those that are preserved, or only those that are not."),
    chat_id: text(1, 1_024).optional().meta({ description: "Only those of this chat." }),
    query: text(1, 200).optional().meta({
      description: "Words in what was judged, in the trigger or in the correction, in any case.",
    }),
  });
export const preservation = () =>
  z
    .strictObject({
      preserved: z.boolean().optional().meta({ description: "`false`: retention may remove it." }),
      reason: z.string().max(500).optional(),
    })
    .meta({ id: "Preservation" });
export const whose = () =>
  z.strictObject({
    chat_id: z.string().min(1).max(1_024).optional(),
    person: z.string().min(1).max(256).optional(),
  });
export const retraction = () => z.strictObject({ reason: z.string().max(500).optional() });
export const name = () =>
  z.object({
    name: z
      .string()
      .regex(
        /^\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d_(positive|negative)_fb_[0-9a-f]{6,12}$/,
        "must be the name of a package",
      ),
  });
export const filePath = () =>
  name().extend({
    file: z
      .string()
      .regex(
        /^(feedback\.json|messages\.json|audio\.wav|\d{6}\.jpg)$/,
        "must be the name of a package's file",
      ),
  });

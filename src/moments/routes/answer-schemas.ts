// What people react to, as it goes out over the wire, for the description of the API alone.
import { z } from "zod";
import { count } from "../../server/answer-schemas.ts";

const consentFields = {
  messages: z.boolean(),
  frames: z.boolean(),
  audio: z.boolean(),
  upload: z.boolean(),
  export: z.boolean(),
};
const sentiment = z.enum(["positive", "negative"]);
export const consent = z
  .object({
    ...consentFields,
    wording: z.string().nullable(),
    timestamp: z.number().nullable(),
    by: z.string().nullable(),
  })
  .meta({ id: "Consent" });

export const receipt = z
  .object({
    id: z.string(),
    name: z.string(),
    accepted: z.boolean(),
    durable: z.boolean(),
    uploaded: z.boolean(),
    reason: z.string().optional(),
    reduced: z.string().optional(),
    duplicate_of: z.string().optional(),
  })
  .meta({ id: "Receipt", description: "`durable`: neither a kill nor a power cut loses it." });

const statsFields = {
  messages: count,
  frames: count,
  audio_samples: count,
  audio_seconds: z.number(),
  bytes: count,
  waiting: count,
  pinned_bytes: count,
  limits: z
    .object({ messages: count, frames: count, audio_seconds: z.number(), bytes: count })
    .describe("The limits of the buffers."),
  storage_mode: z.enum(["local", "local+s3", "s3"]),
  storage_reason: z.string().nullable().describe("Why it differs from the configuration."),
  package_bytes: count
    .nullable()
    .describe("The size of all packages here, as last counted; `null`: not counted yet."),
  s3_bucket: z.string().nullable(),
  outbox: z.looseObject({ pending: count, dead: count }).nullable(),
  consent,
  capturing: z
    .object({ frames: z.boolean(), audio: z.boolean() })
    .describe("Whether pictures or sound are arriving now, from any device."),
};
const buffers = z.object(statsFields).meta({
  id: "Buffers",
  description: "What the rolling buffers hold. Sent when it changed, at most once a second.",
});
export const stats = z.object(statsFields).meta({ id: "FeedbackStats" });

const mark = z.looseObject({ timestamp: z.number(), reason: z.string().nullable() });
export const reactions = z
  .object({
    reactions: z.array(
      z
        .object({
          message_ids: z.array(z.string()).describe("The answers and tool results of the turn."),
          sentiment,
          name: z.string().describe("Of its package."),
        })
        .meta({ id: "MessageReaction" }),
    ),
  })
  .meta({ id: "ReactionsOfChat" });
export const packageStatus = z
  .looseObject({
    uploaded: z.array(z.looseObject({ bucket: z.string(), timestamp: z.number() })),
    retracted: mark.nullable(),
    preserved: mark.nullable(),
  })
  .meta({ id: "PackageStatus" });
const milliseconds = z
  .number()
  .nullable()
  .describe("Milliseconds from the reaction, negative before it; `null`: not known.");
const audio = z
  .looseObject({
    rate_hz: z.int(),
    samples: count,
    start_t_ms: milliseconds,
  })
  .meta({ id: "PackageAudio" });
const feedback = z
  .looseObject({
    timestamp: z.number().describe("Seconds since 1970."),
    sentiment,
    what: z.string(),
    trigger: z.string(),
    num_messages: count,
    num_frames: count,
    audio_samples: count,
    chat_id: z.string().nullable(),
    channel: z.string(),
    correction: z.object({ text: z.string(), kind: z.enum(["replacement", "note"]) }).nullable(),
    consent: z.looseObject(consentFields),
    target: z
      .looseObject({ index: z.int(), count, how: z.string() })
      .nullable()
      .describe("The messages that were reacted to."),
    frames: z.array(z.looseObject({ file: z.string(), t_ms: milliseconds })),
    audio: z.union([audio, z.null()]),
  })
  .meta({ id: "Feedback", description: "A package's `feedback.json`." });
const said = z
  .looseObject({
    role: z.enum(["USER", "ASSISTANT", "SYSTEM", "TOOL"]),
    text: z.string(),
    id: z.string(),
    seq: z.int(),
    t_ms: milliseconds,
  })
  .meta({ id: "PackageMessage" });
const difference = z
  .looseObject({ path: z.string(), detail: z.string() })
  .meta({ id: "Difference", description: "One difference between a package and its seal." });
const entry = {
  name: z.string(),
  state: z
    .enum(["sealed", "damaged", "newer", "seed", "bucket"])
    .describe("`bucket`: only the bucket has its files."),
  detail: z.string().nullable(),
  bytes: count,
  feedback: z.union([feedback, z.null()]),
  status: z.union([packageStatus, z.null()]),
};
export const packageList = z
  .object({
    packages: z.array(z.object(entry).meta({ id: "Package" })),
    cursor: z.string().nullable(),
  })
  .meta({ id: "PackageList", description: "Sorted by the second of the reaction, newest first." });
export const onePackage = z
  .object({
    feedback,
    messages: z.array(said),
    status: z.union([packageStatus, z.null()]),
    incomplete: z.array(difference),
  })
  .meta({ id: "PackageContent" });
export const packageFile = z
  .union([z.looseObject({}), z.array(z.looseObject({}))])
  .meta({ id: "PackageFile", description: "`feedback.json`, or the list of `messages.json`." });
export const retractedThere = z
  .object({ name: z.string(), pending: z.literal(true) })
  .meta({ id: "RetractedInBucket" });
export const verification = z
  .object({
    verified: z.boolean(),
    state: z
      .enum(["whole", "damaged", "newer", "seed"])
      .describe(
        "`newer`: written by a later version. `seed`: written by the original, not sealed.",
      ),
    differences: z.array(difference),
  })
  .meta({ id: "Verification" });
export const deletion = z
  .looseObject({
    packages: count,
    failed: z
      .array(z.looseObject({ name: z.string() }))
      .describe("Not deleted yet: done at the next start, or when you repeat the request."),
    unreadable: z
      .array(z.string())
      .describe(
        "Packages that cannot be read, so it is not known whose they are. Delete them by name.",
      ),
  })
  .meta({ id: "DeletedPackages" });
export const pushed = z.object({ result: z.enum(["accepted", "throttled", "off", "busy"]) }).meta({
  id: "Pushed",
  description:
    "`accepted`; or why it was not kept: `throttled` (too soon after the last picture), `off` (no " +
    "consent), `busy` (the encoder is busy).",
});

/** The data of the events that moments publish. */
export const events = {
  feedback: z
    .object({ type: z.string(), receipt })
    .describe("A package of a reaction changed its state."),
  buffers,
};

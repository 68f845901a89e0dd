// What people react to, as it goes over the wire.
import { z } from "@hono/zod-openapi";

const sentiment = z.enum(["positive", "negative"]);
const count = z.int().min(0);
const text = (min: number, max: number) => z.string().min(min).max(max);

const consentFields = {
  ...{ messages: z.boolean(), frames: z.boolean(), audio: z.boolean() },
  ...{ upload: z.boolean(), export: z.boolean() },
};
export const consentBody = z
  .strictObject({
    ...z.object(consentFields).partial().shape,
    wording: text(1, 2_000)
      .optional()
      .openapi({ description: "What the person was shown: needed for pictures and sound." }),
    by: text(1, 256).optional(),
  })
  .openapi("ConsentInput", { description: "What is left out is not agreed to." });
export const consent = z
  .object({
    ...consentFields,
    wording: z.string().nullable(),
    timestamp: z.number().nullable(),
    by: z.string().nullable(),
  })
  .openapi("Consent");

export const reaction = z
  .strictObject({
    sentiment,
    what: text(1, 2_000).openapi({ description: "What was liked or disliked." }),
    trigger: z.string().max(500).optional(),
    channel: z.enum(["touch", "speech", "text", "button", "other"]).optional(),
    score: z.number().min(-1).max(1).optional(),
    correction: z
      .strictObject({ text: text(1, 8_000), kind: z.enum(["replacement", "note"]) })
      .optional(),
    chat_id: text(1, 1_024).optional().openapi({ description: "Of the newest message if absent." }),
    target_message_id: text(1, 256)
      .optional()
      .openapi({ description: "The answer that it is about; if absent, the last one." }),
    post_roll_ms: z.int().min(0).max(30_000).optional(),
  })
  .openapi("Reaction");
export const receipt = z
  .object({
    ...{ id: z.string(), name: z.string(), accepted: z.boolean(), durable: z.boolean() },
    ...{ uploaded: z.boolean(), reason: z.string().optional(), reduced: z.string().optional() },
    duplicate_of: z.string().optional(),
  })
  .openapi("Receipt", { description: "`durable`: neither a kill nor a power cut loses it." });

export const stats = z
  .object({
    ...{ messages: count, frames: count, audio_samples: count, audio_seconds: z.number() },
    ...{ bytes: count, waiting: count, pinned_bytes: count },
    limits: z
      .object({ messages: count, frames: count, audio_seconds: z.number(), bytes: count })
      .openapi({ description: "What the buffers hold at most." }),
    storage_mode: z.enum(["local", "local+s3", "s3"]),
    storage_reason: z.string().nullable().openapi({ description: "Why it is not as configured." }),
    package_bytes: count
      .nullable()
      .openapi({ description: "Of all packages here, as counted last; `null`: not counted yet." }),
    s3_bucket: z.string().nullable(),
    outbox: z.looseObject({ pending: count, parked: count }).nullable(),
    consent,
    capturing: z
      .object({ frames: z.boolean(), audio: z.boolean() })
      .openapi({ description: "Whether pictures and sound come in now, by whatever door." }),
  })
  .openapi("FeedbackStats");

const status = z.looseObject({
  retracted: z.looseObject({}).nullable(),
  preserved: z.looseObject({}).nullable(),
});
export const packageStatus = status.openapi("PackageStatus");
const entry = {
  name: z.string(),
  state: z.enum(["sealed", "damaged", "newer", "seed"]),
  detail: z.string().nullable(),
  bytes: count,
  feedback: z.looseObject({}).nullable().openapi({ description: "Its `feedback.json`." }),
  status: status.nullable(),
};
export const packageList = z
  .object({
    packages: z.array(z.object(entry).openapi("Package")),
    cursor: z.string().nullable(),
  })
  .openapi("PackageList", { description: "Newest first." });
export const onePackage = z
  .object({
    feedback: z.looseObject({}),
    messages: z.array(z.looseObject({})),
    status: status.nullable(),
    incomplete: z.array(z.looseObject({})),
  })
  .openapi("PackageContent");
export const verification = z
  .object({ verified: z.boolean(), differences: z.array(z.looseObject({})) })
  .openapi("Verification");
export const repaired = z
  .looseObject({
    outcome: z.enum(["whole", "repaired", "not_repaired"]),
    differences: z.array(z.looseObject({})),
  })
  .openapi("RepairedPackage", { description: "`not_repaired`: nothing was touched." });
export const preservation = z
  .strictObject({
    preserved: z
      .boolean()
      .optional()
      .openapi({ description: "`false` lets it go; else it stays." }),
    reason: z.string().max(500).optional(),
  })
  .openapi("Preservation");
export const whose = z.strictObject({
  chat_id: z.string().min(1).max(1_024).optional(),
  person: z.string().min(1).max(256).optional(),
});
export const deletion = z
  .looseObject({
    packages: count,
    failed: z.array(z.looseObject({ name: z.string() })).openapi({
      description: "Not finished: done at the next start, or when it is asked for again.",
    }),
    unreadable: z
      .array(z.string())
      .openapi({ description: "Nobody knows whose they are: delete them by name." }),
    isBucketSearched: z.boolean().openapi({
      description: "`false`: copies that are in the bucket alone may be left; ask again later.",
    }),
  })
  .openapi("DeletedPackages");
export const retraction = z.strictObject({ reason: z.string().max(500).optional() });
export const pushed = z
  .object({ result: z.string() })
  .openapi("Pushed", { description: "`accepted`, or why it was not: `throttled`, `off`, …" });

export const name = z.object({
  name: z.string().regex(/^\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d_(positive|negative)_fb_[0-9a-f]{6,12}$/),
});
export const filePath = name.extend({
  file: z.string().regex(/^(feedback\.json|messages\.json|audio\.wav|\d{6}\.jpg)$/),
});

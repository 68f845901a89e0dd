// What the companion takes over the wire: see the server's schemas.
import { z } from "zod";
import { answersFrom } from "../../server/operation.ts";
import { text, whole } from "../../server/schemas.ts";
import { clientLimits } from "../client-runs.ts";

const schemaOf = answersFrom(() => import("./answer-schemas.ts"));

/** What an operation answers when it is done. */
export function answer(says: string, name: Parameters<typeof schemaOf>[0]) {
  return { 200: { says, schema: schemaOf(name) } };
}

/** The header of an operation that is done once under one key. */
export const idempotencyKey = () => z.object({ "Idempotency-Key": z.string().optional() });

const instant = () => whole(0, 8_640_000_000_000_000);
export const moodSpan = () =>
  z.strictObject({
    from: instant()
      .optional()
      .meta({ description: "Milliseconds since 1970. A day ago if absent." }),
    to: instant().optional().meta({ description: "Now if absent, and at most." }),
    points: whole(10, 2_000).optional().meta({ description: "300 when absent." }),
  });
export const emotionEvent = () =>
  z
    .strictObject({
      event: text(64),
      intensity: z.number().min(0).max(10).optional().meta({ description: "1 when absent." }),
    })
    .meta({ id: "EmotionEvent" });
export const moodBody = () =>
  z
    .strictObject({
      mood: text(64),
      duration: z
        .number()
        .gt(0)
        .max(3_600)
        .optional()
        .meta({ description: "Seconds; 10 when absent." }),
    })
    .meta({ id: "MoodOverride" });
export const personBody = () => z.strictObject({ name: text(256) }).meta({ id: "Person" });
export const sleepBody = () =>
  z.strictObject({ state: z.enum(["awake", "asleep"]) }).meta({ id: "Sleep" });
const clientName = () =>
  text(clientLimits.name).meta({ description: "The name of a program with runs of its own." });
export const clientBody = () => z.strictObject({ client: clientName() }).meta({ id: "Client" });
export const ofClient = () => z.strictObject({ client: clientName().optional() });
export const deliveredBody = () =>
  ofClient()
    .extend({
      id: text(64)
        .optional()
        .meta({ description: "Of an `inject` event to the client; it covers those before it." }),
    })
    .meta({ id: "RestartHeard" });
export const injectBody = () =>
  z.strictObject({ client: clientName(), text: text(clientLimits.text) }).meta({ id: "Inject" });
export const touch = () =>
  z
    .strictObject({
      level: z
        .union([z.literal(1), z.literal(2)], "must be 1 or 2")
        .meta({ description: "1: a light pat; 2: a long one, a scratch of the head." }),
      chat_id: z
        .string()
        .min(1)
        .max(1_024)
        .optional()
        .meta({ description: "If absent, the chat in which a person acted last." }),
    })
    .meta({ id: "Touch" });

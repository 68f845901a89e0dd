// The companion as it goes out over the wire, for the description of the API alone. The names are the
// seeds': snake_case.
import { z } from "@hono/zod-openapi";
import { count, editedFields, more, stamp } from "../../server/answer-schemas.ts";

const level = z.number().min(0).max(1);
const levels = z
  .object({
    joy: level,
    sadness: level,
    anger: level,
    fear: level,
    disgust: level,
  })
  .openapi("Levels");
const seconds = z.number().min(0);
const kind = z.enum(["fresh_start", "crash_recovery", "short_break", "long_absence"]);
const certainty = z.enum(["certain", "clock", "uncertain"]).openapi({
  description:
    "`certain`: measured by the machine's uptime. `clock`: by its clock. `uncertain`: the clock went " +
    "backwards or cannot be used.",
});
const sleepState = z.enum(["awake", "asleep"]);
const person = {
  last_person_seen: z.string().nullable(),
  last_person_seen_time: z.number().nullable().openapi({ description: "Seconds since 1970." }),
};
const elapsed = seconds.nullable().openapi({
  description: "Seconds since the last sign of life of the run before; `null`: not known.",
});

export const factsState = z
  .object({
    facts: z.string().openapi({ description: "The text of `facts.md`." }),
    lines: z
      .array(
        z.object({
          text: z.string(),
          used: z.enum(["whole", "part", "no"]).openapi({
            description: "How much of the fact fits into what a model gets.",
          }),
          tokens: count,
        }),
      )
      .openapi({ description: "The facts: the lines that are not blank." }),
    ...editedFields,
    max_characters: count.openapi({ description: "What a model gets of the facts, at most." }),
  })
  .openapi("Facts");

export const companionRun = z
  .object({
    session_id: z.string().openapi({ description: "Of the run: 8 hexadecimal digits." }),
    restart_type: kind,
    elapsed,
    uptime: seconds,
    total_sessions: count,
    session_start: z.number().openapi({ description: "Seconds since 1970." }),
    clean: z.boolean().openapi({ description: "Whether the run before ended cleanly." }),
    interrupted_turns: z
      .array(z.object({ chat_id: z.string(), message_id: z.string() }))
      .openapi({ description: "Messages that the run before left without an answer." }),
    certainty,
    previous_session_id: z.string().nullable(),
    quarantined: count.openapi({
      description: "Stored things that could not be read and were set aside.",
    }),
    sleep_state: sleepState,
    models: z.object({
      standard: z
        .object({ provider: z.string(), model: z.string() })
        .openapi({ description: "What new sessions run on." }),
      providers: z.array(z.string()).openapi({
        description: "The only providers that may be asked. `offline` sends nothing.",
      }),
    }),
    ...person,
  })
  .openapi("CompanionRun");

export const restart = z
  .object({
    report: z.object({
      kind,
      clean: z.boolean(),
      elapsed,
      certainty,
      previous_session_id: z.string().nullable(),
      total_sessions: count,
      quarantined: count,
      interrupted_turns: z.array(z.object({ chat_id: z.string(), message_id: z.string() })),
    }),
    deliveries: z.array(
      z
        .object({
          chat_id: z.string(),
          kind,
          status: z.enum(["pending", "delivered"]),
          text: z.string().openapi({ description: "What the model read, or would read now." }),
          parts: z.array(z.enum(["session"])),
          at: stamp.nullable(),
        })
        .openapi("Delivery"),
    ),
  })
  .openapi("Restart");

const feelings = {
  levels,
  boredom: level,
  wounds: z.array(
    z
      .object({
        id: z.string(),
        event: z.string(),
        duration: seconds,
        age: seconds,
        floors: z.record(z.string(), level).openapi({ description: "As they are now." }),
        healing: z.boolean(),
        heals_in: seconds.nullable().openapi({ description: "Seconds; `null`: never by itself." }),
      })
      .openapi("Wound"),
  ),
  mood: z.string(),
  mood_override: z.object({ mood: z.string(), until: stamp }).nullable(),
  mood_cause: z
    .object({ event: z.string(), age: seconds })
    .nullable()
    .openapi({
      description:
        "The reason: the event of the newest open wound, else the event that brought the mood, and its age. " +
        "`null`: no event did.",
    }),
  sleep_state: sleepState,
  voice_state: z.enum(["idle", "listening", "thinking", "speaking"]),
};
export const emotionState = z
  .object({
    ...feelings,
    baselines: levels,
    events: z.array(z.string()),
    event_severity: z.record(z.string(), z.enum(["healing", "mild", "moderate", "severe"])),
    moods: z.array(z.string()),
    triggers: z.array(z.string()).openapi({ description: "Events that words can cause." }),
    warnings: z.array(z.string()).openapi({ description: "What is wrong with `emotions.yaml`." }),
  })
  .openapi("Emotions");

export const touched = z
  .object({
    event: z.enum(["pat_level1", "pat_level2"]),
    state: emotionState,
    hint: z.enum(["told", "pending", "none"]).openapi({
      description:
        "Whether the model hears of it: in a turn of its own; in one that is to come already; not, " +
        "because it was a light one, or there is no chat, no model, or no room.",
    }),
    chat_id: z.string().nullable(),
    turn_id: z.string().nullable(),
    recorded: z
      .string()
      .nullable()
      .openapi({ description: "The package that a rule makes of it, where rules are on." }),
  })
  .openapi("Touched");

const course = z.array(level.nullable());
export const moodHistory = z
  .object({
    from: z.int(),
    to: z.int(),
    at: z.array(z.int()).openapi({ description: "Milliseconds since 1970, a step apart." }),
    levels: z.object({
      joy: course,
      sadness: course,
      anger: course,
      fear: course,
      disgust: course,
    }),
    boredom: course,
    mood: z.array(z.string().nullable()),
    more,
    events: z.array(
      z.object({
        at: z.int(),
        event: z.string(),
        intensity: z.number(),
        wound: z.enum(["added", "limit"]).nullable(),
      }),
    ),
    wounds: z.array(
      z.object({
        id: z.string(),
        event: z.string(),
        from: z.int(),
        to: z.int().nullable(),
      }),
    ),
    runs: z.array(z.object({ from: z.int(), to: z.int().nullable() })),
  })
  .openapi("MoodHistory", { description: "`null` where no run was up, or nothing is known." });

export const appliedEvent = z
  .object({
    status: z.literal("applied"),
    event: z.string(),
    wound: z.enum(["added", "limit"]).nullable(),
    state: emotionState,
  })
  .openapi("AppliedEvent", {
    description: "`limit`: it left no wound, because there are already enough.",
  });
export const emotionsReset = z
  .object({ status: z.literal("reset"), state: emotionState })
  .openapi("EmotionsReset");
export const moodSet = z
  .object({ status: z.literal("set"), mood: z.string(), state: emotionState })
  .openapi("MoodSet");
export const personSeen = z.object(person).openapi("PersonSeen");
export const sleeping = z.object({ sleep_state: sleepState }).openapi("Sleeping");

/** The data of the events that the companion publishes. */
export const events = {
  emotions: z
    .object(feelings)
    .openapi({ description: "How the companion feels, whenever that changed enough to notice." }),
  person: personSeen,
  sleep: sleeping,
  restart: z
    .object({ chat_id: z.string(), status: z.literal("delivered") })
    .openapi({ description: "A chat got its restart notice." }),
};

// The companion as it goes out over the wire, for the description of the API alone. The names are the
// seeds': snake_case.
import { z } from "zod";
import { count, editedFields, more, stamp } from "../../server/answer-schemas.ts";
import { severities } from "../emotion/configuration.ts";
import { eachLevel, voiceStates } from "../emotion/emotion.ts";
import { certainties } from "../gap.ts";
import { restartKinds } from "../restart.ts";

const level = z.number().min(0).max(1);
const levels = z.object(eachLevel(() => level)).meta({ id: "Levels" });
const seconds = z.number().min(0);
const kind = z.enum(restartKinds);
const certainty = z
  .enum(certainties)
  .describe(
    "`certain`: measured by the machine's uptime. `clock`: by its clock. `uncertain`: the clock went " +
      "backwards or cannot be used.",
  );
const sleepState = z.enum(["awake", "asleep"]);
const person = {
  last_person_seen: z.string().nullable(),
  last_person_seen_time: z.number().nullable().describe("Seconds since 1970."),
};
const elapsed = seconds
  .nullable()
  .describe("Seconds since the last sign of life of the run before; `null`: not known.");

export const factsState = z
  .object({
    facts: z.string().describe("The text of `facts.md`."),
    lines: z
      .array(
        z.object({
          text: z.string(),
          used: z
            .enum(["whole", "part", "no"])
            .describe("How much of the fact fits into what a model gets."),
          tokens: count,
        }),
      )
      .describe("The facts: the lines that are not blank."),
    ...editedFields,
    max_characters: count.describe("What a model gets of the facts, at most."),
  })
  .meta({ id: "Facts" });

const report = {
  clean: z.boolean().describe("Whether the run before ended cleanly."),
  elapsed,
  certainty,
  previous_session_id: z.string().nullable(),
  total_sessions: count,
  quarantined: count.describe(
    "Stored things that could not be read and were set aside, until `doctor --confirm`.",
  ),
  interrupted_turns: z
    .array(z.object({ chat_id: z.string(), message_id: z.string() }))
    .describe("Messages that the run before left without an answer."),
};

export const companionRun = z
  .object({
    session_id: z.string().describe("Of the run: 8 hexadecimal digits."),
    restart_type: kind,
    ...report,
    uptime: seconds,
    session_start: z.number().describe("Seconds since 1970."),
    sleep_state: sleepState,
    models: z.object({
      standard: z
        .object({ provider: z.string(), model: z.string() })
        .describe("What new sessions run on."),
      providers: z
        .array(z.string())
        .describe("The only providers that may be asked. `offline` sends nothing."),
    }),
    ...person,
    client: z.string().optional().describe("Where it is the run of a client."),
    ended: z.boolean().optional(),
  })
  .meta({ id: "CompanionRun" });

export const clientRun = companionRun
  .omit({ models: true })
  .extend({
    client: z.string(),
    ended: z.boolean(),
    injects: z.array(z.string()).describe("Ids of what its model is still to hear."),
    text: z.string().optional().describe("Of a run that begins: what its model is to hear."),
  })
  .meta({ id: "ClientRun" });
export const restartDelivered = z
  .object({ status: z.literal("delivered"), chats: z.array(z.string()) })
  .meta({ id: "RestartDelivered" });
export const restart = z
  .object({
    report: z.object({ kind, ...report }),
    deliveries: z.array(
      z
        .object({
          chat_id: z.string(),
          kind,
          status: z.enum(["pending", "delivered"]),
          text: z.string().describe("What the model read, or would read now."),
          parts: z.array(z.enum(["session"])),
          at: stamp.nullable(),
        })
        .meta({ id: "Delivery" }),
    ),
    kind: kind.describe("Of `text`: as the restart is judged now."),
    status: z.enum(["pending", "delivered"]).describe("Whether a model heard `text`."),
    text: z
      .string()
      .describe(
        'The facts, then the restart notice. "": there is nothing to say, or it was heard.',
      ),
  })
  .meta({ id: "Restart" });

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
        floors: z.record(z.string(), level).describe("As they are now."),
        healing: z.boolean(),
        heals_in: seconds.nullable().describe("Seconds; `null`: never by itself."),
      })
      .meta({ id: "Wound" }),
  ),
  mood: z.string(),
  mood_override: z.object({ mood: z.string(), until: stamp }).nullable(),
  mood_cause: z
    .object({ event: z.string(), age: seconds })
    .nullable()
    .describe(
      "The reason: the event of the newest open wound, else the event that brought the mood, and its age. " +
        "`null`: no event did.",
    ),
  sleep_state: sleepState,
  voice_state: z.enum(voiceStates),
};
export const emotionState = z
  .object({
    ...feelings,
    baselines: levels,
    events: z.array(z.string()),
    event_severity: z.record(z.string(), z.enum(severities)),
    moods: z.array(z.string()),
    triggers: z.array(z.string()).describe("Events that words can cause."),
    warnings: z.array(z.string()).describe("What is wrong with `emotions.yaml`."),
  })
  .meta({ id: "Emotions" });

export const touched = z
  .object({
    event: z.enum(["pat_level1", "pat_level2"]),
    state: emotionState,
    hint: z
      .enum(["told", "sent", "pending", "none"])
      .describe(
        "Whether the model hears of it: in a turn of its own; as an `inject` event, where a client's run is " +
          "open; in one that is to come already; not, because it was a light one, or there is no chat, no " +
          "model, or no room.",
      ),
    chat_id: z.string().nullable(),
    turn_id: z.string().nullable(),
    recorded: z
      .string()
      .nullable()
      .describe("The package that a rule makes of it, where rules are on."),
  })
  .meta({ id: "Touched" });

const course = z.array(level.nullable());
export const moodHistory = z
  .object({
    from: z.int(),
    to: z.int(),
    at: z.array(z.int()).describe("Milliseconds since 1970, a step apart."),
    levels: z.object(eachLevel(() => course)),
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
  .meta({ id: "MoodHistory", description: "`null` where no run was up, or nothing is known." });

export const appliedEvent = z
  .object({
    status: z.literal("applied"),
    event: z.string(),
    wound: z.enum(["added", "limit"]).nullable(),
    state: emotionState,
  })
  .meta({
    id: "AppliedEvent",
    description: "`limit`: it left no wound, because there are already enough.",
  });
export const emotionsReset = z
  .object({ status: z.literal("reset"), state: emotionState })
  .meta({ id: "EmotionsReset" });
export const moodSet = z
  .object({ status: z.literal("set"), mood: z.string(), state: emotionState })
  .meta({ id: "MoodSet" });
export const personSeen = z.object(person).meta({ id: "PersonSeen" });
export const sleeping = z.object({ sleep_state: sleepState }).meta({ id: "Sleeping" });

/** The data of the events that the companion publishes. */
export const events = {
  emotions: z
    .object(feelings)
    .describe("How the companion feels, whenever that changed enough to notice."),
  person: personSeen,
  sleep: sleeping,
  restart: z
    .object({ chat_id: z.string(), status: z.literal("delivered") })
    .describe("A chat got its restart notice."),
  inject: z
    .object({ client: z.string(), id: z.string(), text: z.string() })
    .describe(
      "What a client's model is to hear, until `POST /api/restart/delivered` names the `id`.",
    ),
};

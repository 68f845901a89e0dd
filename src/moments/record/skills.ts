import { isThroughlineError } from "../../core/errors.ts";
import { isJsonObject, type JsonObject } from "../../core/json.ts";
import { aFunction, checkArgument } from "../../core/options.ts";
import { type Timers, until } from "../../core/timers.ts";
import type { Sentiment } from "../package/record.ts";
import type { MomentInput } from "./label.ts";
import type { Receipt } from "./receipt.ts";

/** For the system prompt. Source: the seed. */
export const reactionsPrompt =
  "You learn from reactions. When someone scratches your head, remember positively what you just did. When corrected or told to stop, remember negatively.";

/** The synthetic mark of a message that tells of a long pat: such a message is never judged. */
export const patHintKind = "pat_hint";

/** A tool as every model understands it, whatever carries the call. */
export interface Skill {
  readonly name: "remember_positively" | "remember_negatively";
  readonly description: string;
  /** JSON Schema of the arguments. */
  readonly parameters: JsonObject;
  /**
   * Records what the model says it did. Waits up to 1 s for it to be durable, and says no more than
   * is true. Never rejects: what is wrong with the arguments is told to the model.
   *
   * @returns what the model is told.
   */
  handle(args: unknown, call?: SkillCall): Promise<string>;
}

/** Where the model called it. */
export type SkillCall = Pick<
  MomentInput,
  "chatId" | "turnId" | "provider" | "model" | "channel" | "idempotencyKey"
>;

const durableWithinMs = 1_000;

function parameters(what: string, example: string): JsonObject {
  return {
    type: "object",
    properties: {
      what: { type: "string", minLength: 1, maxLength: 2_000, description: what },
      trigger: {
        type: "string",
        maxLength: 500,
        description: `What triggered the feedback (e.g. "${example}")`,
      },
    },
    required: ["what"],
    additionalProperties: false,
  };
}

/** `remember_positively` and `remember_negatively`, as tools of a model. */
export function rememberSkills(
  record: (input: MomentInput) => Receipt,
  timers: Timers,
): readonly Skill[] {
  checkArgument(record, "record", aFunction);
  const skill = (sentiment: Sentiment, told: Omit<Skill, "handle">): Skill => ({
    ...told,
    handle: (args, call = {}) => remember(record, timers, sentiment, args, call),
  });
  return [
    skill("positive", {
      name: "remember_positively",
      description: "Record what you did that earned a positive reaction.",
      parameters: parameters("What you did that was liked", "head scratch"),
    }),
    skill("negative", {
      name: "remember_negatively",
      description: "Record what you did that earned a negative reaction.",
      parameters: parameters("What you did that was disliked", "verbal correction"),
    }),
  ];
}

async function remember(
  record: (input: MomentInput) => Receipt,
  timers: Timers,
  sentiment: Sentiment,
  args: unknown,
  call: SkillCall,
): Promise<string> {
  const { what, trigger } = isJsonObject(args) ? args : {};
  let receipt: Receipt;
  try {
    receipt = record({
      ...call,
      sentiment,
      what: what as string,
      trigger: (trigger ?? undefined) as string | undefined,
      source: "skill",
    });
  } catch (error) {
    if (!isThroughlineError(error)) throw error;
    return `Not recorded: ${error.message}.`;
  }
  if (!receipt.accepted) return `Not recorded: ${receipt.reason}.`;
  await until(receipt.whenDecided(), { ms: durableWithinMs, timers });
  if (receipt.durable) return "Remembered.";
  return receipt.reason === undefined ? "Noted, still saving." : `Not recorded: ${receipt.reason}.`;
}

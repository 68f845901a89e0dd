import type { ToolCall } from "../../core/chat/message.ts";
import { isThroughlineError } from "../../core/errors.ts";
import { isJsonObject, type JsonObject } from "../../core/json.ts";
import type { Responder, TurnTool, TurnTools } from "../../core/models/responder.ts";
import { aFunction, checkArgument, having } from "../../core/options.ts";
import { sha256 } from "../../core/sha256.ts";
import { type Timers, until } from "../../core/timers.ts";
import type { Turn } from "../../core/turns/turn.ts";
import { type Sentiment, sentiments } from "../package/package-name.ts";
import type { MomentInput } from "../record/label.ts";
import type { MomentRecorder } from "../record/moment-recorder.ts";
import type { Receipt } from "../record/receipt.ts";

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

const words = {
  positive: { was: "liked", example: "head scratch" },
  negative: { was: "disliked", example: "verbal correction" },
} as const;

function parametersOf(sentiment: Sentiment): JsonObject {
  const { was, example } = words[sentiment];
  const what = `What you did that was ${was}`;
  const trigger = `What triggered the feedback (e.g. "${example}")`;
  return {
    type: "object",
    properties: {
      what: { type: "string", minLength: 1, maxLength: 2_000, description: what },
      trigger: { type: "string", maxLength: 500, description: trigger },
    },
    required: ["what"],
    additionalProperties: false,
  };
}

type Recording = (input: MomentInput) => Receipt;

/** `remember_positively` and `remember_negatively`, as tools of a model. */
export function rememberSkills(record: Recording, timers: Timers): readonly Skill[] {
  checkArgument(record, "record", aFunction);
  return sentiments.map((sentiment) => ({
    name: `remember_${sentiment}ly`,
    description: `Record what you did that earned a ${sentiment} reaction.`,
    parameters: parametersOf(sentiment),
    handle: (args, call) => remember(record, timers, args, { ...call, sentiment }),
  }));
}

async function remember(
  record: Recording,
  timers: Timers,
  args: unknown,
  call: SkillCall & Pick<MomentInput, "sentiment">,
): Promise<string> {
  const { what, trigger } = (isJsonObject(args) ? args : {}) as Partial<MomentInput>;
  let receipt: Receipt;
  try {
    const said = { what: what as string, trigger: trigger ?? undefined };
    receipt = record({ ...call, ...said, source: "skill" });
  } catch (error) {
    if (!isThroughlineError(error)) throw error;
    return `Not recorded: ${error.message}.`;
  }
  if (receipt.accepted) await until(receipt.whenDecided(), { ms: durableWithinMs, timers });
  if (receipt.durable) return "Remembered.";
  return receipt.reason === undefined ? "Noted, still saving." : `Not recorded: ${receipt.reason}.`;
}

type Target = Pick<Responder, "provider" | "model">;

/**
 * `remember_positively` and `remember_negatively` for the models of turns. A call is in the rolling
 * buffer before the moment is recorded, so that its turn is never taken for one that was judged. The
 * same call of a turn records once, however often it comes.
 */
export function offerSkills(
  recorder: MomentRecorder,
  timers: Timers,
): (turn: Turn, target: Target) => TurnTools {
  checkArgument(recorder, "recorder", having("the recorder of moments", "capture"));
  const skills = rememberSkills((input) => recorder.record(input), timers);
  recorder.capture(
    "tools",
    skills.map(({ handle: _, ...shown }) => shown),
  );
  return (turn, target) => ({
    instructions: reactionsPrompt,
    tools: skills.map((skill) => toolOf(skill, recorder, turn, target)),
  });
}

function toolOf(
  { handle, ...shown }: Skill,
  recorder: MomentRecorder,
  turn: Turn,
  { provider, model }: Target,
): TurnTool {
  const ids = { chatId: turn.chatId, turnId: turn.id };
  const channel = turn.synthetic === patHintKind ? "touch" : "text";
  const run = async (args: unknown, call: ToolCall) => {
    const id = `${turn.id}:${turn.retryId ?? ""}:${digestOf(call)}`;
    const toolCalls = [{ ...call, function: { ...call.function } }];
    recorder.message({ role: "assistant", text: "", id: `${id}:call`, toolCalls, ...ids });
    const from = { ...ids, provider, model, channel } as const;
    const idempotencyKey = `skill:${sha256(id).toString("hex")}`;
    const text = await handle(args, { ...from, idempotencyKey });
    const toolCallId = call.id;
    recorder.message({ role: "tool", text, id: `${id}:result`, toolCallId, ...ids });
    return text;
  };
  // The package is named by the call: a second run finds it.
  return { ...shown, repeatable: true, run };
}

/** Of all that a call says: not every service gives each its own id, and none is held to a length. */
function digestOf({ id, function: { name, arguments: args } }: ToolCall): string {
  const text = JSON.stringify([id, name, args]);
  return sha256(text).toString("hex").slice(0, 32);
}

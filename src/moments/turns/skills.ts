import type { ToolCall } from "../../core/chat/message.ts";
import type { Responder, TurnTool, TurnTools } from "../../core/models/responder.ts";
import { checkArgument, having } from "../../core/options.ts";
import { sha256 } from "../../core/sha256.ts";
import type { Timers } from "../../core/timers.ts";
import type { Turn } from "../../core/turns/turn.ts";
import type { MomentRecorder } from "../record/moment-recorder.ts";
import { patHintKind, reactionsPrompt, rememberSkills, type Skill } from "../record/skills.ts";

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
  const shown = skills.map(({ name, description, parameters }) => {
    return { name, description, parameters };
  });
  recorder.capture("tools", shown);
  return (turn, target) => ({
    instructions: reactionsPrompt,
    tools: skills.map((skill) => toolOf(skill, recorder, turn, target)),
  });
}

function toolOf(
  skill: Skill,
  recorder: MomentRecorder,
  turn: Turn,
  { provider, model }: Target,
): TurnTool {
  const { name, description, parameters } = skill;
  const ids = { chatId: turn.chatId, turnId: turn.id };
  const run = async (args: unknown, call: ToolCall) => {
    const id = `${turn.id}:${turn.retryId ?? ""}:${digestOf(call)}`;
    const toolCalls = [{ ...call, function: { ...call.function } }];
    recorder.message({ role: "assistant", text: "", id: `${id}:call`, toolCalls, ...ids });
    const told = await skill.handle(args, {
      ...ids,
      provider,
      model,
      idempotencyKey: `skill:${id}`,
      channel: turn.synthetic === patHintKind ? "touch" : "text",
    });
    const result = { role: "tool", text: told, id: `${id}:result` } as const;
    recorder.message({ ...result, toolCallId: call.id, ...ids });
    return told;
  };
  // The package is named by the call: a second run finds it.
  return { name, description, parameters, repeatable: true, run };
}

/** Of all that a call says: not every service gives each its own id, and none is held to a length. */
function digestOf({ id, function: { name, arguments: args } }: ToolCall): string {
  const text = JSON.stringify([id, name, args]);
  return sha256(text).toString("hex").slice(0, 32);
}

import type { Chats } from "../chat/chats.ts";
import type { FreshnessRules } from "../chat/freshness.ts";
import type { ProviderModel, ProviderSessions } from "../chat/provider-sessions.ts";
import type { WorkingMemories } from "../chat/working-memory.ts";
import type { Extensions } from "../extensions.ts";
import type { Responder, Responders, TurnTool, TurnTools } from "../models/responder.ts";
import {
  aFunction,
  aTextOrFunction,
  byDefault,
  maybe,
  misconfigured,
  type Options,
  resolveOptions,
  whole,
} from "../options.ts";
import type { Runtime } from "../runtime.ts";
import type { Turn } from "./turn.ts";
import type { TurnQueue } from "./turn-queue.ts";

export interface TurnsOptions {
  /**
   * What answers: one model, or several to choose from. Not needed for `open`, whose caller asks a model
   * of its own.
   * @default none: `submit`, `answer` and `retry` are refused
   */
  readonly model?: Responder | Responders | undefined;
  /**
   * The stable part of every prompt: who answers. A function is called once in each turn, before the
   * model is asked; if it throws, the turn fails, and its message can be answered later.
   * @default ""
   */
  readonly persona?: string | (() => string | Promise<string>) | undefined;
  /**
   * How many messages may wait in one chat.
   * @default 32
   */
  readonly maxQueued?: number | undefined;
  /** What it is called, so that its name beside a command is passed over. */
  readonly companionName?: string | undefined;
  /**
   * What models may do beside speaking, in this turn. Of two tools with one name the last counts.
   * @default nothing
   */
  readonly tools?: ((turn: Turn, target: ProviderModel) => TurnTools) | undefined;
}

const turnsOptions = {
  model: maybe([
    "a responder, or responders to choose from",
    (value) => typeof value === "object" && value !== null,
  ]),
  persona: byDefault("", aTextOrFunction),
  maxQueued: byDefault(32, whole(0)),
  companionName: maybe(),
  tools: maybe(aFunction),
} satisfies Options<TurnsOptions>;

export interface TurnsRuntime extends Runtime, Omit<TurnsOptions, "model"> {
  readonly chats: Chats;
  readonly sessions: ProviderSessions;
  readonly workingMemory: WorkingMemories;
  readonly rules: FreshnessRules;
  readonly extensions: Extensions;
  /** Shared by every `Turns` of one `Throughline`. */
  readonly queue: TurnQueue;
  readonly responders: Responders;
  readonly persona: () => string | Promise<string>;
  readonly maxQueued: number;
}

/** @throws ThroughlineError `THROUGHLINE_CONFIGURATION`: an option cannot be used. */
export function turnsRuntime(
  memories: Omit<TurnsRuntime, keyof TurnsOptions | "responders">,
  given: TurnsOptions,
): TurnsRuntime {
  const resolved = resolveOptions("the options of turns", given, turnsOptions);
  const { model, persona, tools, ...options } = resolved;
  return {
    ...memories,
    ...options,
    responders: model === undefined ? noModel : respondersOf(model),
    persona: typeof persona === "function" ? persona : () => persona,
    tools: tools && ((...of) => checkedTools(tools(...of))),
  };
}

/**
 * The tools that an application returned: of two with one name the last.
 *
 * @throws ThroughlineError `THROUGHLINE_CONFIGURATION`: what its `tools` returned cannot be offered.
 */
function checkedTools(given: TurnTools): TurnTools {
  const isTool = ({ name, run }: TurnTool) => typeof name === "string" && typeof run === "function";
  if (typeof given?.instructions !== "string" || !given.tools?.every?.(isTool)) {
    throw misconfigured("tools() must return { instructions, tools: [{ name, …, run }] }");
  }
  const byName = new Map(given.tools.map((tool) => [tool.name, tool]));
  return { ...given, tools: [...byName.values()] };
}

const noModel: Responders = {
  standard: { provider: "offline", model: "offline" },
  get: () => Promise.reject(misconfigured("these turns have no model: pass `model` to turns()")),
};

function respondersOf(model: Responder | Responders): Responders {
  if ("get" in model) return model;
  const { provider, model: name } = model;
  const get = async (asked: string, called: string) => {
    if (asked === provider && called === name) return model;
    throw misconfigured(
      `${asked}/${called} is not the model of these turns: ${provider}/${name} is`,
    );
  };
  return { standard: { provider, model: name }, get };
}

import type { Extensions } from "../extensions.ts";
import type { Responder, TurnTool, TurnTools } from "../models/responder.ts";
import {
  aFunction,
  type Checks,
  type Defaults,
  misconfigured,
  resolveOptions,
  whole,
} from "../options.ts";
import type { Throughline } from "../throughline.ts";
import type { TurnQueue } from "./turn-queue.ts";
import { type Responders, type TurnPorts, Turns } from "./turns.ts";

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
  /** What models may do beside speaking, in this turn. By default nothing. */
  readonly tools?: TurnPorts["tools"];
}

const defaults = {
  model: undefined,
  persona: "",
  maxQueued: 32,
  companionName: undefined,
  tools: undefined,
} as const satisfies Defaults<TurnsOptions>;

const checks: Checks<TurnsOptions> = {
  maxQueued: whole(0),
  tools: aFunction,
  persona: [
    "text or a function",
    (value) => typeof value === "string" || typeof value === "function",
  ],
  model: [
    "a responder, or responders to choose from",
    (value) => typeof value === "object" && value !== null,
  ],
};

type Memories = Pick<Throughline, "chats" | "sessions" | "workingMemory" | "rules" | "ports">;

/** @throws ThroughlineError `THROUGHLINE_CONFIGURATION`: an option cannot be used. */
export function newTurns(
  memories: Memories & { readonly extensions: Extensions; readonly queue: TurnQueue },
  given: TurnsOptions,
): Turns {
  const options = resolveOptions("the options of turns", given, defaults, checks);
  const { model, persona, maxQueued, companionName, tools } = options;
  const { chats, sessions, workingMemory, rules, ports, extensions, queue } = memories;
  return new Turns({
    ...ports,
    chats,
    sessions,
    memories: workingMemory,
    rules,
    extensions,
    queue,
    responders: model === undefined ? noModel : respondersOf(model),
    persona: typeof persona === "function" ? persona : () => persona,
    maxQueued,
    companionName,
    tools: tools && ((...of) => checkedTools(tools(...of))),
  });
}

/** @throws ThroughlineError `THROUGHLINE_CONFIGURATION`: what an application's `tools` returned cannot be offered. */
function checkedTools(given: TurnTools): TurnTools {
  const isTool = ({ name, run }: TurnTool) => typeof name === "string" && typeof run === "function";
  if (typeof given?.instructions === "string" && given.tools?.every?.(isTool)) return given;
  throw misconfigured("tools() must return { instructions, tools: [{ name, …, run }] }");
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

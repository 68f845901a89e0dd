import type { Extensions } from "../extensions.ts";
import type { Responder } from "../models/responder.ts";
import { type Checks, type Defaults, misconfigured, resolveOptions, whole } from "../options.ts";
import type { Throughline } from "../throughline.ts";
import { type Responders, type TurnPorts, Turns } from "./turns.ts";

export interface TurnsOptions {
  /** What answers: one model, or several to choose from. */
  readonly model: Responder | Responders;
  /**
   * The stable part of every prompt: who answers.
   * @default ""
   */
  readonly persona?: string | undefined;
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
  persona: "",
  maxQueued: 32,
  companionName: undefined,
  tools: undefined,
} as const satisfies Defaults<TurnsOptions>;

const checks: Checks<TurnsOptions> = {
  maxQueued: whole(0),
  model: [
    "a responder, or responders to choose from",
    (value) => typeof value === "object" && value !== null,
  ],
};

type Memories = Pick<Throughline, "chats" | "sessions" | "workingMemory" | "rules" | "ports">;

/** @throws ThroughlineError `THROUGHLINE_CONFIGURATION`: an option cannot be used. */
export function newTurns(
  memories: Memories & { readonly extensions: Extensions },
  given: TurnsOptions,
): Turns {
  const options = resolveOptions("the options of turns", given, defaults, checks);
  const { model, persona, maxQueued, companionName, tools } = options;
  const { chats, sessions, workingMemory, rules, ports, extensions } = memories;
  return new Turns({
    ...ports,
    chats,
    sessions,
    memories: workingMemory,
    rules,
    extensions,
    responders: respondersOf(model),
    persona,
    maxQueued,
    companionName,
    tools,
  });
}

function respondersOf(model: TurnsOptions["model"]): Responders {
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

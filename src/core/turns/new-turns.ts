import type { Extensions } from "../extensions.ts";
import type { Responder } from "../models/responder.ts";
import { checkNames, misconfigured } from "../options.ts";
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

const defaults = { persona: "", maxQueued: 32 } as const satisfies Partial<TurnsOptions>;

/** Every option there is. */
const names: Readonly<Record<keyof TurnsOptions, true>> = {
  model: true,
  persona: true,
  maxQueued: true,
  companionName: true,
  tools: true,
};

type Memories = Pick<Throughline, "chats" | "sessions" | "workingMemory" | "rules" | "ports">;

/** @throws ThroughlineError `THROUGHLINE_CONFIGURATION`: an option cannot be used. */
export function newTurns(
  memories: Memories & { readonly extensions: Extensions },
  given: TurnsOptions,
): Turns {
  checkNames(given, "the options of turns", names);
  const { model, persona = defaults.persona, maxQueued = defaults.maxQueued } = given;
  const { companionName, tools } = given;
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
  if (typeof model !== "object" || model === null) {
    throw misconfigured("model must be a responder, or responders to choose from");
  }
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

import assert from "node:assert/strict";
import { setImmediate } from "node:timers/promises";
import { type Responder, ResponderError } from "../../src/core/models/responder.ts";
import { openThroughline, type ThroughlineOptions } from "../../src/core/throughline.ts";
import type { TurnsOptions } from "../../src/core/turns/turns-options.ts";
import { HeldClock } from "./held-clock.ts";
import {
  type ScriptedResponder,
  type ScriptedStep,
  scriptedResponder,
} from "./scripted-responder.ts";

/** The chat that the companion's own helpers read and write. */
export const chat = "telegram:42";

export type Script = readonly (readonly ScriptedStep[])[];

/** A step of a model that cannot be reached. */
export const down: ScriptedStep = {
  type: "fail",
  error: new ResponderError("the model is away", { kind: "unavailable" }),
};

export interface ScriptedCompanionOptions extends Partial<ThroughlineOptions> {
  /** Of the model, in tokens. */
  readonly window?: number | undefined;
  /** When the clock stands, until it is moved. */
  readonly at?: string | undefined;
  readonly turns?: TurnsOptions | ((model: ScriptedResponder) => TurnsOptions);
}

/**
 * A companion in memory by a held clock, with counted ids.
 *
 * @param script what its model plays, or a model, whose requests are not noted then.
 */
export async function scriptedCompanion(
  script: Script | Responder,
  options: ScriptedCompanionOptions = {},
) {
  const { window, at, turns: own = {}, ...rest } = options;
  const clock = new HeldClock(at);
  let ids = 0;
  const newId = () => `id-${++ids}`;
  const model: ScriptedResponder =
    "respond" in script
      ? { requests: [], ...script }
      : scriptedResponder(script, window === undefined ? {} : { window });
  const target = { provider: model.provider, model: model.model };
  const standard = { storage: "memory", clock, newId, ...target } as const;
  const throughline = await openThroughline({ ...standard, ...rest });
  const { chats } = throughline;
  const more = typeof own === "function" ? own(model) : own;
  const turns = await throughline.turns({ model, persona: "You are kind.", ...more });
  const say = (content: string, id?: string) => turns.submit(chat, { id, content }).done;
  /** What a request held, the newest unless told: of what the companion said first, the words. */
  const asked = (request = -1) => {
    const opening = /^Before the person wrote, you said .*?\n(record-\w+)\n(.*?)\n\1/s;
    const messages = model.requests.at(request)?.messages ?? [];
    return messages.map(({ role, content }) => `${role}: ${content.replace(opening, "<$2>")}`);
  };
  /** The messages of the chat that are not hidden. */
  const shown = async () => {
    const { messages } = await chats.messages(chat);
    const seen = messages.filter(({ hidden }) => hidden !== true);
    return seen.map(({ role, content }) => `${role}: ${content}`);
  };
  /** Resolves once this message waits, and is stored. */
  const waits = async (id: string) => {
    for (let pass = 0; pass < 10_000; pass++) {
      if ((await chats.state(chat)).head?.pending?.includes(id)) return;
      await setImmediate();
    }
    assert.fail(`${id} does not wait`);
  };
  return { ...throughline, throughline, turns, clock, model, target, say, asked, shown, waits };
}

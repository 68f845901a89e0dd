// What the two processes of the turn kill test have in common.
import { appendFileSync } from "node:fs";
import type { TurnTool } from "../../src/core/models/responder.ts";

export const chat = "telegram:42";
export const hello = "Hello";
export const question = { id: "question", content: "Please switch the lamp on." };
export const usage = { inputTokens: 10, outputTokens: 5, costUsd: 0.5 };

export const journalOf = (home: string) => `${home}.journal`;

/** A tool that has an effect outside of the product: a line in the journal, with the key of the call. */
export function lampTool(home: string, repeatable: boolean, hooks: LampHooks = {}): TurnTool {
  return {
    ...{ name: "lamp", description: "Switches the lamp on.", parameters: { type: "object" } },
    repeatable,
    async run(_args, _call, key) {
      hooks.begins?.();
      appendFileSync(journalOf(home), `tool ran ${key}\n`);
      hooks.hasRun?.();
      return "on";
    },
  };
}

interface LampHooks {
  readonly begins?: () => void;
  readonly hasRun?: () => void;
}

/** In the order in which a turn comes to them. */
export const killPlaces = [
  "before the user's message",
  "in the user's message",
  "before the sync of the user's message",
  "when the model is asked",
  "before the call",
  "in the call",
  "before the sync of the call",
  "before the tool runs",
  "while the tool runs",
  "before the result",
  "in the result",
  "before the sync of the result",
  "in the middle of the stream",
  "before the answer",
  "in the answer",
  "before the sync of the answer",
  "after the turn",
] as const;

export type KillPlace = (typeof killPlaces)[number];

import { asSent, type JudgedTurn } from "./judged-turn.ts";

/** A message as trainers' chat templates know it. */
export interface PlainMessage {
  readonly role: "system" | "user" | "assistant" | "tool";
  readonly content: string;
}

const roles = { SYSTEM: "system", USER: "user", ASSISTANT: "assistant", TOOL: "tool" } as const;

/**
 * The prompt with plain text as content. Neighbours of one role are one message, because templates
 * demand that roles take turns and voice models send many pieces. The last role is user or tool.
 */
export function plainPrompt({ system, before }: JudgedTurn): readonly PlainMessage[] {
  const out: PlainMessage[] =
    system === undefined || system.trim() === "" ? [] : [{ role: "system", content: system }];
  for (const message of before) {
    const role = roles[message.role];
    const content = asSent(message);
    if (role === "assistant" && content.trim() === "") continue; // only called a tool
    const last = out.at(-1);
    if (last?.role !== role) out.push({ role, content });
    else out[out.length - 1] = { role, content: `${last.content}\n\n${content}` };
  }
  return out;
}

export function assistantSays(content: string): readonly PlainMessage[] {
  return [{ role: "assistant", content }];
}

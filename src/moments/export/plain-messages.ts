import type { Attachment } from "../../core/chat/message.ts";
import { delivered, type JudgedTurn } from "./judged-turn.ts";

/** A message as trainers' chat templates know it. */
export interface PlainMessage {
  readonly role: "system" | "user" | "assistant" | "tool";
  readonly content: string;
}

/** The same with the pictures that were sent in it. */
interface PicturedMessage extends PlainMessage {
  readonly pictures: readonly Attachment[];
}

const roles = { SYSTEM: "system", USER: "user", ASSISTANT: "assistant", TOOL: "tool" } as const;

/**
 * The prompt with plain text as content. Neighbours of one role are one message, because templates
 * demand that roles take turns and voice models send many pieces. The last role is user or tool.
 */
export function plainPrompt(turn: JudgedTurn): readonly PlainMessage[] {
  return picturedPrompt(turn).map(({ role, content }) => ({ role, content }));
}

export function picturedPrompt({ system = "", before }: JudgedTurn): readonly PicturedMessage[] {
  const out: PicturedMessage[] =
    system.trim() === "" ? [] : [{ role: "system", content: system, pictures: [] }];
  for (const message of before) {
    const role = roles[message.role];
    const content = delivered(message);
    if (role === "assistant" && content.trim() === "") continue; // only called a tool
    const last = out.at(-1);
    const { attachments: pictures = [] } = message;
    if (last?.role !== role) out.push({ role, content, pictures });
    else {
      const all = [...last.pictures, ...pictures];
      out[out.length - 1] = { role, content: `${last.content}\n\n${content}`, pictures: all };
    }
  }
  return out;
}

export function assistantSays(content: string): readonly PlainMessage[] {
  return [{ role: "assistant", content }];
}

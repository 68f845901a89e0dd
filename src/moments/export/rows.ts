import type { Attachment } from "../../core/chat/message.ts";
import { printableJson } from "../../core/chat/printable.ts";
import { isoTime } from "../../core/clock.ts";
import type { FileEntry, Manifest, PackageMessage } from "../package/record.ts";
import { delivered, type JudgedTurn } from "./judged-turn.ts";
import { openaiMessages, openaiTools } from "./openai-messages.ts";

/** Gives messages structured content, with a place for each picture, which the row's pictures fill in order. */
function withImages(messages: readonly PlainMessage[], images: readonly number[]) {
  const place = { type: "image", text: null } as const;
  return messages.map(({ role, content }, index) => ({
    role,
    content: [...Array(images[index] ?? 0).fill(place), { type: "text", text: content } as const],
  }));
}

/** Makes a row for KTO. The members of each row are in the order that the documents name; each has one type in all rows. */
export function ktoRow(manifest: Manifest, turn: JudgedTurn) {
  const { id, sentiment, score, what, trigger, session_id } = manifest;
  return {
    id,
    prompt: plainPrompt(turn),
    completion: assistantSays(turn.answer),
    label: sentiment === "positive",
    score,
    what,
    trigger,
    session_id,
    created_at: createdAt(manifest),
  };
}

/** Of the trigger, to the millisecond. */
export function createdAt({ timestamp }: Manifest): string {
  return isoTime(Math.round(timestamp * 1_000));
}

/** @param images how many pictures stand in each message of the prompt. */
export function visionRow(manifest: Manifest, turn: JudgedTurn, images: readonly number[]) {
  return {
    id: manifest.id,
    prompt: withImages(plainPrompt(turn), images),
    completion: withImages(assistantSays(turn.answer), []),
    label: manifest.sentiment === "positive",
  };
}

/** The answer that a person would have wanted; a note on how to behave is none. */
function replacementOf({ correction }: Manifest, { answer }: JudgedTurn): string | undefined {
  if (correction === null || correction.kind !== "replacement") return undefined;
  const isUsable = correction.text.trim() !== "" && correction.text !== answer;
  return isUsable ? correction.text : undefined;
}

export function dpoRow(manifest: Manifest, turn: JudgedTurn) {
  const replacement = replacementOf(manifest, turn);
  if (replacement === undefined) return "no_correction" as const;
  return {
    id: manifest.id,
    prompt: plainPrompt(turn),
    chosen: assistantSays(replacement),
    rejected: assistantSays(turn.answer),
  };
}

/** Makes a pair in the form of OpenAI's preference tuning. Source: its guide to direct preference. */
export function openaiDpoRow(manifest: Manifest, turn: JudgedTurn) {
  const replacement = replacementOf(manifest, turn);
  if (replacement === undefined) return "no_correction" as const;
  const tools = openaiTools(manifest.latched["tools"]);
  const messages = openaiMessages(turn);
  return {
    input: tools.length === 0 ? { messages } : { messages, tools, parallel_tool_calls: true },
    preferred_output: assistantSays(replacement),
    non_preferred_output: assistantSays(turn.answer),
  };
}

/** Makes a row of a whole package. Paths in `media` begin in the folder that the packages are in. */
export function packageRow(manifest: Manifest, messages: readonly PackageMessage[]) {
  const { name, files } = manifest;
  const media = files.filter(isMedia).map(({ path }) => `${name}/${path}`);
  return { name, record: manifest, messages, media };
}

function isMedia({ path }: FileEntry): boolean {
  return path !== "messages.json";
}

/**
 * Writes a row as a line of JSON. `score` has a decimal point always: where the first rows have whole numbers,
 * readers take the column for integers and fail on the first 0.5. Every lone surrogate becomes U+FFFD, in keys
 * too: one of them makes a whole file unreadable for Python's readers.
 */
export function rowText(row: object): string {
  const members = Object.entries(row).map(([key, value]: [string, unknown]) => {
    const isWhole = key === "score" && Number.isInteger(value);
    return `${JSON.stringify(key)}:${JSON.stringify(wellFormed(value))}${isWhole ? ".0" : ""}`;
  });
  return `${printableJson(`{${members.join(",")}}`)}\n`;
}

function wellFormed(value: unknown): unknown {
  if (typeof value === "string") return value.toWellFormed();
  if (Array.isArray(value)) return value.map(wellFormed);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key.toWellFormed(), wellFormed(item)]),
  );
}

/** A message as trainers' chat templates know it. */
interface PlainMessage {
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

function assistantSays(content: string): readonly PlainMessage[] {
  return [{ role: "assistant", content }];
}

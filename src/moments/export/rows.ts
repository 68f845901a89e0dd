import type { Attachment } from "../../core/chat/message.ts";
import { isoTime } from "../../core/clock.ts";
import type { Json } from "../../core/json.ts";
import type { FileEntry, Manifest, PackageMessage } from "../package/record.ts";
import { delivered, type JudgedTurn } from "./judged-turn.ts";
import { openaiMessages, openaiTools } from "./openai-messages.ts";
import type { SkipReason } from "./selection.ts";

/** A piece of a message; an image's place, which the row's pictures fill in order. */
type ContentPart =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "image"; readonly text: null };

interface StructuredMessage {
  readonly role: PlainMessage["role"];
  readonly content: readonly ContentPart[];
}

/** A row with pictures. */
interface VisionRow {
  readonly id: string;
  readonly prompt: readonly StructuredMessage[];
  readonly completion: readonly StructuredMessage[];
  readonly label: boolean;
}

/** Messages with structured content, and the places of their pictures. */
function withImages(
  messages: readonly PlainMessage[],
  images: readonly number[],
): readonly StructuredMessage[] {
  const place = { type: "image", text: null } as const;
  return messages.map(({ role, content }, index) => ({
    role,
    content: [...Array(images[index] ?? 0).fill(place), { type: "text", text: content } as const],
  }));
}

/** The members of each row are in the order that the documents name; each has one type in all rows. */
interface KtoRow {
  readonly id: string;
  readonly prompt: readonly PlainMessage[];
  readonly completion: readonly PlainMessage[];
  readonly label: boolean;
  /** To be written with a decimal point: readers take a column of whole numbers for integers. */
  readonly score: number;
  readonly what: string;
  readonly trigger: string;
  readonly session_id: string;
  /** ISO 8601, UTC. */
  readonly created_at: string;
}

export function ktoRow(manifest: Manifest, turn: JudgedTurn): KtoRow {
  const { id, sentiment, score, what, trigger, session_id } = manifest;
  return wellFormed({
    id,
    prompt: plainPrompt(turn),
    completion: assistantSays(turn.answer),
    label: sentiment === "positive",
    score,
    what,
    trigger,
    session_id,
    created_at: createdAt(manifest),
  });
}

/** Of the trigger, to the millisecond. */
export function createdAt({ timestamp }: Manifest): string {
  return isoTime(Math.round(timestamp * 1_000));
}

/** @param images how many pictures stand in each message of the prompt. */
export function visionRow(
  manifest: Manifest,
  turn: JudgedTurn,
  images: readonly number[],
): VisionRow {
  return wellFormed({
    id: manifest.id,
    prompt: withImages(plainPrompt(turn), images),
    completion: withImages(assistantSays(turn.answer), []),
    label: manifest.sentiment === "positive",
  });
}

export interface ImageFolderRow extends VisionRow {
  /** From the export's folder; the name makes the column `images` for its reader. */
  readonly images_file_names: readonly string[];
}

interface DpoRow {
  readonly id: string;
  readonly prompt: readonly PlainMessage[];
  readonly chosen: readonly PlainMessage[];
  readonly rejected: readonly PlainMessage[];
}

/** The answer that a person would have wanted; a note on how to behave is none. */
function replacementOf({ correction }: Manifest, { answer }: JudgedTurn): string | undefined {
  if (correction === null || correction.kind !== "replacement") return undefined;
  const isUsable = correction.text.trim() !== "" && correction.text !== answer;
  return isUsable ? correction.text : undefined;
}

export function dpoRow(manifest: Manifest, turn: JudgedTurn): DpoRow | SkipReason {
  const replacement = replacementOf(manifest, turn);
  if (replacement === undefined) return "no_correction";
  return wellFormed({
    id: manifest.id,
    prompt: plainPrompt(turn),
    chosen: assistantSays(replacement),
    rejected: assistantSays(turn.answer),
  });
}

/** A pair in the form of OpenAI's preference tuning. Source: its guide to direct preference. */
interface OpenaiDpoRow {
  readonly input: {
    readonly messages: readonly Json[];
    readonly tools?: readonly Json[];
    readonly parallel_tool_calls?: true;
  };
  readonly preferred_output: readonly PlainMessage[];
  readonly non_preferred_output: readonly PlainMessage[];
}

export function openaiDpoRow(manifest: Manifest, turn: JudgedTurn): OpenaiDpoRow | SkipReason {
  const replacement = replacementOf(manifest, turn);
  if (replacement === undefined) return "no_correction";
  const tools = openaiTools(manifest.latched["tools"]);
  const messages = openaiMessages(turn);
  return wellFormed({
    input: tools.length === 0 ? { messages } : { messages, tools, parallel_tool_calls: true },
    preferred_output: assistantSays(replacement),
    non_preferred_output: assistantSays(turn.answer),
  });
}

/** A package whole, for tools of one's own. */
interface PackageRow {
  readonly name: string;
  readonly record: Manifest;
  readonly messages: readonly PackageMessage[];
  /** From the folder that the packages are in. */
  readonly media: readonly string[];
}

export function packageRow(manifest: Manifest, messages: readonly PackageMessage[]): PackageRow {
  const { name, files } = manifest;
  const media = files.filter(isMedia).map(({ path }) => `${name}/${path}`);
  return wellFormed({ name, record: manifest, messages, media });
}

function isMedia({ path }: FileEntry): boolean {
  return path !== "messages.json";
}

/**
 * The value with every lone surrogate replaced by U+FFFD, in keys too. One of them makes a whole
 * JSONL file unreadable for Python's readers, or changes its column types without a word.
 */
function wellFormed<T>(value: T): T {
  return copy(value) as T;
}

function copy(value: unknown): unknown {
  if (typeof value === "string") return value.toWellFormed();
  if (Array.isArray(value)) return value.map(copy);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key.toWellFormed(), copy(item)]),
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

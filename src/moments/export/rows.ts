// What a package gives in each format: one line of its file, and the pictures beside it.
import type { Attachment } from "../../core/chat/message.ts";
import { printableJson } from "../../core/chat/printable.ts";
import { isoTime } from "../../core/clock.ts";
import { wellFormedJson } from "../../core/json.ts";
import { attachmentFile, messagesFile } from "../package/content.ts";
import type { FrameEntry, Manifest } from "../package/record.ts";
import {
  delivered,
  type JudgedTurn,
  judgedTurn,
  type OpenPackage,
  sentMessages,
} from "./judged-turn.ts";
import type { ExportSettings, FeedbackExportFormat, SkipReason } from "./selection.ts";

/** What a package gives. */
export interface Row {
  /** One line of the format's file. */
  readonly row: object;
  /** Files beside the rows. */
  readonly pictures: readonly { readonly path: string; readonly bytes: Uint8Array }[];
  /** How many pictures the package has, for a format that has none of its own. */
  readonly frames: number;
  /** Whole turns that its prompt lost. */
  readonly cutTurns: number;
}

interface Format {
  /** The file with the rows. */
  readonly file: string;
  /** What a row is, for the dataset card. */
  readonly says: string;
  /** A reason: the package gives no row. */
  row(from: OpenPackage, options: ExportSettings): Promise<Row | SkipReason>;
}

export const formats: Readonly<Record<FeedbackExportFormat, Format>> = {
  kto: {
    file: "train.jsonl",
    says: "Each row is an answer, what it was given to, and whether a person liked it: for KTO (TRL).",
    row: (from, options) => textRow(from, options, ktoRow),
  },
  dpo: {
    file: "train.jsonl",
    says: "Each row is an answer, what it was given to, and what a person would have said instead: for preference tuning.",
    row: (from, options) => textRow(from, options, dpoRow),
  },
  imagefolder: {
    file: "metadata.jsonl",
    says: "Each row is an answer, what it was given to, the pictures that were sent and that the camera saw, and whether a person liked it. The pictures are files beside `metadata.jsonl`.",
    async row(from, options) {
      const turn = await judged(from, options);
      if (typeof turn === "string") return turn;
      const { pictures, counts } = await picturesOf(from, turn, options);
      const row = {
        id: from.manifest.id,
        prompt: withImages(plainPrompt(turn), counts),
        completion: withImages(assistantSays(turn.answer), []),
        label: from.manifest.sentiment === "positive",
        // From the export's folder; the name makes the column `images` for its reader.
        images_file_names: pictures.map(({ path }) => path),
      };
      return { row, pictures, frames: pictures.length, cutTurns: turn.cutTurns };
    },
  },
  jsonl: {
    file: "packages.jsonl",
    says: "Each row is a package as it was recorded. Paths in `media` begin in the folder that the packages are kept in; the media are not in this export.",
    async row({ manifest, messages }) {
      const { name, files, consent, num_frames: frames } = manifest;
      const paths = files.map(({ path }) => path).filter((path) => path !== messagesFile);
      const media = paths.map((path) => `${name}/${path}`);
      const row = { name, record: manifest, messages: consent.messages ? messages : [], media };
      return { row, pictures: [], frames, cutTurns: 0 };
    },
  },
};

async function judged(from: OpenPackage, options: ExportSettings) {
  if (!from.manifest.consent.messages) return "no_consent";
  return judgedTurn(from.manifest, await sentMessages(from), options.maxPromptChars);
}

async function textRow(
  from: OpenPackage,
  options: ExportSettings,
  toRow: (manifest: Manifest, turn: JudgedTurn) => object | SkipReason,
): Promise<Row | SkipReason> {
  const turn = await judged(from, options);
  if (typeof turn === "string") return turn;
  const row = toRow(from.manifest, turn);
  return typeof row === "string" ? row : { row, pictures: [], frames: 0, cutTurns: turn.cutTurns };
}

/** Makes a row for KTO. The members of each row are in the order that the documents name; each has one type in all rows. */
function ktoRow(manifest: Manifest, turn: JudgedTurn) {
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

/** Makes a pair with the answer that a person would have wanted; a note on how to behave is none. */
function dpoRow({ id, correction }: Manifest, turn: JudgedTurn) {
  const { text, kind } = correction ?? {};
  const isUsable = kind === "replacement" && text?.trim() !== "" && text !== turn.answer;
  if (text === undefined || !isUsable) return "no_correction" as const;
  return {
    id,
    prompt: plainPrompt(turn),
    chosen: assistantSays(text),
    rejected: assistantSays(turn.answer),
  };
}

/** Gives messages structured content, with a place for each picture, which the row's pictures fill in order. */
function withImages(messages: readonly PlainMessage[], images: readonly number[]) {
  const place = { type: "image", text: null } as const;
  return messages.map(({ role, content }, index) => ({
    role,
    content: [...Array(images[index] ?? 0).fill(place), { type: "text", text: content } as const],
  }));
}

/** Reads the pictures of the judged turn: those of each message, and in the last one what the camera saw. */
async function picturesOf(from: OpenPackage, turn: JudgedTurn, { maxFrames }: ExportSettings) {
  const { consent, frames, name } = from.manifest;
  const prompt = promptOf(turn);
  const sent = prompt.flatMap(({ pictures }) => pictures);
  const kept = sent.slice(Math.max(0, sent.length - maxFrames));
  const room = maxFrames - kept.length;
  const chosen = consent.frames ? chooseFrames(frames, turn.startMs, room) : [];
  const last = prompt.findLastIndex(({ role }) => role === "user");
  const byMessage = prompt.map(({ pictures }, index) => [
    ...(index === last ? chosen.map(({ file }) => ({ file, as: file })) : []),
    ...pictures.filter((file) => kept.includes(file)).map(sentPicture),
  ]);
  const read = byMessage.flat().map(async ({ file, as }) => {
    return { path: `${name}/${as}`, bytes: await from.part(file) };
  });
  return { pictures: await Promise.all(read), counts: byMessage.map(({ length }) => length) };
}

/** A picture this long before the judged turn still shows how it began. */
const leadMs = 5_000;

/**
 * The pictures for a row: at most `max`, spread evenly over those of the judged turn and the last one before it, the
 * first and the last of these among them, in the order of time. Pictures after the trigger, which may
 * show the reaction, and pictures without a time stay out.
 *
 * @param startMs when the turn began, relative to the trigger; null: with the first picture.
 */
export function chooseFrames(
  frames: readonly FrameEntry[],
  startMs: number | null,
  max: number,
): readonly FrameEntry[] {
  const start = startMs === null ? Number.NEGATIVE_INFINITY : Math.min(startMs, 0);
  const isNear = ({ t_ms: t }: FrameEntry) => t !== null && t >= start - leadMs && t <= 0;
  const near = frames.filter(isNear).sort((a, b) => Number(a.t_ms) - Number(b.t_ms));
  const opening = near.findLastIndex(({ t_ms: t }) => Number(t) <= start);
  const shown = near.slice(Math.max(opening, 0)).reverse();
  const count = Math.min(max, shown.length);
  const step = count > 1 ? (shown.length - 1) / (count - 1) : 0;
  const chosen = Array.from({ length: count }, (_, n) => shown[Math.round(n * step)]);
  return chosen.filter((frame) => frame !== undefined).reverse();
}

/** Readers of folders of images go by the ending of a name. */
function sentPicture({ sha256, type }: Attachment) {
  return { file: attachmentFile(sha256), as: `frames/${sha256}.${type.replace("image/", "")}` };
}

/** A message as trainers' chat templates know it. */
interface PlainMessage {
  readonly role: "system" | "user" | "assistant" | "tool";
  readonly content: string;
}

const roles = { SYSTEM: "system", USER: "user", ASSISTANT: "assistant", TOOL: "tool" } as const;

/**
 * The prompt with the pictures that were sent in each message. Neighbours of one role are one message, because
 * templates demand that roles take turns and voice models send many pieces. The last role is user or tool.
 */
function promptOf({ system = "", before }: JudgedTurn) {
  const out: (PlainMessage & { readonly pictures: readonly Attachment[] })[] =
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

/** The prompt with plain text as content. */
export function plainPrompt(turn: JudgedTurn): readonly PlainMessage[] {
  return promptOf(turn).map(({ role, content }) => ({ role, content }));
}

function assistantSays(content: string): readonly PlainMessage[] {
  return [{ role: "assistant", content }];
}

/**
 * Writes a row as a line of JSON. `score` has a decimal point always: where the first rows have whole numbers,
 * readers take the column for integers and fail on the first 0.5. Every lone surrogate becomes U+FFFD, in keys
 * too: one of them makes a whole file unreadable for Python's readers.
 */
export function rowText(row: object): string {
  const members = Object.entries(row).map(([key, value]: [string, unknown]) => {
    const isWhole = key === "score" && Number.isInteger(value);
    return `${JSON.stringify(key)}:${wellFormedJson(value)}${isWhole ? ".0" : ""}`;
  });
  return `${printableJson(`{${members.join(",")}}`)}\n`;
}

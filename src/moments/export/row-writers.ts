import type { Attachment } from "../../core/chat/message.ts";
import { printableJson } from "../../core/chat/printable.ts";
import { attachmentFile } from "../package/read-manifest.ts";
import { chooseFrames } from "./frame-choice.ts";
import { type JudgedTurn, judgedTurn } from "./judged-turn.ts";
import { type OpenPackage, SkippedPackage } from "./open-package.ts";
import type { ExportSettings } from "./options.ts";
import type { OutFile } from "./out-file.ts";
import type { OutFolder } from "./out-folder.ts";
import {
  dpoRow,
  type ImageFolderRow,
  ktoRow,
  openaiDpoRow,
  packageRow,
  picturedPrompt,
  visionRow,
} from "./rows.ts";
import { sentMessages } from "./sent-messages.ts";

/** What a row is made of and with, for the card. */
export interface RowFacts {
  readonly frames: number;
  readonly cutTurns: number;
}

/** A row that was read and is not yet written. */
interface ReadRow {
  readonly facts: RowFacts;
  /** Wait for one row before the next. */
  write(): Promise<void>;
}

/** Reads and writes the rows of one format. */
interface RowWriter {
  /** @throws SkippedPackage the package gives no row. */
  read(from: OpenPackage): Promise<ReadRow>;
  finish(): Promise<void>;
}

export function rowWriter(folder: OutFolder, options: ExportSettings): RowWriter {
  switch (options.format) {
    case "kto":
    case "dpo":
      return textRows(folder, options);
    case "imagefolder":
      return imageFolderRows(folder, options);
    case "jsonl":
      return packageRows(folder);
  }
}

async function judged(from: OpenPackage, options: ExportSettings): Promise<JudgedTurn> {
  if (!from.manifest.consent.messages) throw new SkippedPackage("no_consent");
  if (from.manifest.target === null) throw new SkippedPackage("no_target");
  const turn = judgedTurn(from.manifest, await sentMessages(from), options.maxPromptChars);
  if (typeof turn === "string") throw new SkippedPackage(turn);
  return turn;
}

function textRows(folder: OutFolder, options: ExportSettings): RowWriter {
  const lines = new JsonLines(folder, "train.jsonl");
  const pairs = options.style === "openai" ? openaiDpoRow : dpoRow;
  const toRow = options.format === "dpo" ? pairs : ktoRow;
  return {
    async read(from) {
      const turn = await judged(from, options);
      const row = toRow(from.manifest, turn);
      if (typeof row === "string") throw new SkippedPackage(row);
      return { facts: { frames: 0, cutTurns: turn.cutTurns }, write: () => lines.add(row) };
    },
    finish: () => lines.finish(),
  };
}

/** The pictures of the judged turn: those of each message, and in the last one what the camera saw. */
async function pictures(from: OpenPackage, turn: JudgedTurn, { maxFrames }: ExportSettings) {
  const { consent, frames, name } = from.manifest;
  const prompt = picturedPrompt(turn);
  const sent = prompt.flatMap(({ pictures }) => pictures);
  const kept = sent.slice(Math.max(0, sent.length - maxFrames));
  const room = maxFrames - kept.length;
  const chosen = consent.frames ? chooseFrames(frames, turn.startMs, room) : [];
  const last = prompt.findLastIndex(({ role }) => role === "user");
  const byMessage = prompt.map(({ pictures }, index) => [
    ...(index === last ? chosen.map(({ file }) => ({ file, as: file })) : []),
    ...pictures.filter((file) => kept.includes(file)).map(sentPicture),
  ]);
  const all = byMessage.flat();
  const read = await from.pictures(all.map(({ file }) => file));
  const images = read.map(({ bytes }, index) => ({ path: `${name}/${all[index]?.as}`, bytes }));
  return { images, counts: byMessage.map(({ length }) => length) };
}

/** Readers of folders of images go by the ending of a name. */
function sentPicture({ sha256, type }: Attachment) {
  return { file: attachmentFile(sha256), as: `frames/${sha256}.${type.replace("image/", "")}` };
}

function imageFolderRows(folder: OutFolder, options: ExportSettings): RowWriter {
  const lines = new JsonLines(folder, "metadata.jsonl");
  return {
    async read(from) {
      const turn = await judged(from, options);
      const { images, counts } = await pictures(from, turn, options);
      const row = visionRow(from.manifest, turn, counts);
      const names = images.map(({ path }) => path);
      const files = new Map(images.map(({ path, bytes }) => [path, bytes]));
      return {
        facts: { frames: images.length, cutTurns: turn.cutTurns },
        async write() {
          for (const [path, bytes] of files) await folder.write(path, bytes);
          await lines.add({ ...row, images_file_names: names } satisfies ImageFolderRow);
        },
      };
    },
    finish: () => lines.finish(),
  };
}

function packageRows(folder: OutFolder): RowWriter {
  const lines = new JsonLines(folder, "packages.jsonl");
  return {
    async read(from) {
      const { consent } = from.manifest;
      const row = packageRow(from.manifest, consent.messages ? await from.messages() : []);
      return {
        facts: { frames: from.manifest.num_frames, cutTurns: 0 },
        write: () => lines.add(row),
      };
    },
    finish: () => lines.finish(),
  };
}

/** Rows as JSON, one a line. The file begins with its first row: an empty one fails its readers. */
class JsonLines {
  readonly #folder: OutFolder;
  readonly #path: string;
  #file: OutFile | undefined;

  constructor(folder: OutFolder, path: string) {
    this.#folder = folder;
    this.#path = path;
  }

  async add(row: object): Promise<void> {
    this.#file ??= await this.#folder.create(this.#path);
    await this.#file.write(Buffer.from(`${rowText(row)}\n`));
  }

  async finish(): Promise<void> {
    if (this.#file !== undefined) await this.#folder.finish(this.#file);
  }
}

/**
 * The row as JSON. `score` has a decimal point always: where the first rows have whole numbers,
 * readers take the column for integers and fail on the first 0.5.
 */
function rowText(row: object): string {
  const members = Object.entries(row).map(([key, value]: [string, unknown]) => {
    const isWhole = key === "score" && Number.isInteger(value);
    return `${JSON.stringify(key)}:${JSON.stringify(value)}${isWhole ? ".0" : ""}`;
  });
  return printableJson(`{${members.join(",")}}`);
}

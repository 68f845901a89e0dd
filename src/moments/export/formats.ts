import type { Attachment } from "../../core/chat/message.ts";
import { attachmentFile } from "../package/content.ts";
import { chooseFrames } from "./frame-choice.ts";
import { type JudgedTurn, judgedTurn } from "./judged-turn.ts";
import type { ExportSettings, FeedbackExportFormat } from "./options.ts";
import { dpoRow, ktoRow, openaiDpoRow, packageRow, picturedPrompt, visionRow } from "./rows.ts";
import { SkippedPackage } from "./selection.ts";
import { type OpenPackage, sentMessages } from "./sent-messages.ts";

/** What a package gives. */
interface Row {
  /** One line of the format's file. */
  readonly row: object;
  /** Files beside the rows, by path. */
  readonly pictures?: ReadonlyMap<string, Uint8Array>;
  /** How many pictures the row has, and whole turns its prompt lost, for the report. */
  readonly frames: number;
  readonly cutTurns: number;
}

interface Format {
  /** The file with the rows. */
  readonly file: string;
  /** What a row is, for the dataset card. */
  readonly says: string;
  /** @throws SkippedPackage the package gives no row. */
  row(from: OpenPackage, options: ExportSettings): Promise<Row>;
}

export const formats: Readonly<Record<FeedbackExportFormat, Format>> = {
  kto: {
    file: "train.jsonl",
    says: "Each row is an answer, what it was given to, and whether a person liked it: for KTO (TRL).",
    row: async (from, options) => textRow(from, options, ktoRow),
  },
  dpo: {
    file: "train.jsonl",
    says: "Each row is an answer, what it was given to, and what a person would have said instead: for preference tuning.",
    row: async (from, options) =>
      textRow(from, options, options.style === "openai" ? openaiDpoRow : dpoRow),
  },
  imagefolder: {
    file: "metadata.jsonl",
    says: "Each row is an answer, what it was given to, the pictures that were sent and that the camera saw, and whether a person liked it. The pictures are files beside `metadata.jsonl`.",
    async row(from, options) {
      const turn = await judged(from, options);
      const { images, counts } = await pictures(from, turn, options);
      const row = {
        ...visionRow(from.manifest, turn, counts),
        // From the export's folder; the name makes the column `images` for its reader.
        images_file_names: images.map(({ path }) => path),
      };
      const files = new Map(images.map(({ path, bytes }) => [path, bytes]));
      return { row, pictures: files, frames: images.length, cutTurns: turn.cutTurns };
    },
  },
  jsonl: {
    file: "packages.jsonl",
    says: "Each row is a package as it was recorded. Paths in `media` begin in the folder that the packages are kept in; the media are not in this export.",
    async row({ manifest, messages }) {
      const { consent, num_frames: frames } = manifest;
      const row = packageRow(manifest, consent.messages ? messages : []);
      return { row, frames, cutTurns: 0 };
    },
  },
};

async function judged(from: OpenPackage, options: ExportSettings): Promise<JudgedTurn> {
  if (!from.manifest.consent.messages) throw new SkippedPackage("no_consent");
  if (from.manifest.target === null) throw new SkippedPackage("no_target");
  const turn = judgedTurn(from.manifest, await sentMessages(from), options.maxPromptChars);
  if (typeof turn === "string") throw new SkippedPackage(turn);
  return turn;
}

async function textRow(
  from: OpenPackage,
  options: ExportSettings,
  toRow: typeof ktoRow | typeof dpoRow | typeof openaiDpoRow,
): Promise<Row> {
  const turn = await judged(from, options);
  const row = toRow(from.manifest, turn);
  if (typeof row === "string") throw new SkippedPackage(row);
  return { row, frames: 0, cutTurns: turn.cutTurns };
}

/** Reads the pictures of the judged turn: those of each message, and in the last one what the camera saw. */
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
  const read = await Promise.all(all.map(({ file }) => from.part(file)));
  const images = read.map((bytes, index) => ({ path: `${name}/${all[index]?.as}`, bytes }));
  return { images, counts: byMessage.map(({ length }) => length) };
}

/** Readers of folders of images go by the ending of a name. */
function sentPicture({ sha256, type }: Attachment) {
  return { file: attachmentFile(sha256), as: `frames/${sha256}.${type.replace("image/", "")}` };
}

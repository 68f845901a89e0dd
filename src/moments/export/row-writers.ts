import type { PackageMessage } from "../package/package-format.ts";
import { chooseFrames } from "./frame-choice.ts";
import { JsonLines } from "./json-lines.ts";
import { type JudgedTurn, judgedTurn } from "./judged-turn.ts";
import { type OpenPackage, SkippedPackage } from "./open-package.ts";
import { exportLimits, type ResolvedExportOptions } from "./options.ts";
import type { OutFolder } from "./out-folder.ts";
import { ParquetShards } from "./parquet-shards.ts";
import {
  dpoRow,
  type ImageFolderRow,
  ktoRow,
  openaiDpoRow,
  packageRow,
  visionRow,
} from "./rows.ts";
import { TarShards } from "./tar-shards.ts";
import { webDatasetMembers } from "./webdataset.ts";

/** What a row is made of and with, for the card. */
export interface RowFacts {
  readonly frames: number;
  readonly cutTurns: number;
}

/** A row that was read and is not yet written. */
export interface ReadRow {
  readonly facts: RowFacts;
  /**
   * Wait for one row before the next. Once it resolves, nothing refers to the memory of the package.
   */
  write(): Promise<void>;
}

/** Reads and writes the rows of one format. */
export interface RowWriter {
  /** @throws SkippedPackage the package gives no row. */
  read(from: OpenPackage): Promise<ReadRow>;
  finish(): Promise<void>;
  /** After an error: resolves once nothing writes to the folder any more. */
  abandon?(): Promise<void>;
}

export function rowWriter(folder: OutFolder, options: ResolvedExportOptions): RowWriter {
  switch (options.format) {
    case "kto":
    case "dpo":
      return textRows(folder, options);
    case "kto-vision":
      return visionRows(folder, options);
    case "imagefolder":
      return imageFolderRows(folder, options);
    case "webdataset":
      return webDatasetRows(folder, options);
    case "jsonl":
      return packageRows(folder);
  }
}

interface Judged {
  readonly turn: JudgedTurn;
  readonly messages: readonly PackageMessage[];
}

async function judged(from: OpenPackage, options: ResolvedExportOptions): Promise<Judged> {
  if (!from.manifest.consent.messages) throw new SkippedPackage("no_consent");
  if (from.manifest.target === null) throw new SkippedPackage("no_target");
  const messages = await from.messages();
  const turn = judgedTurn(from.manifest, messages, options.maxPromptChars);
  if (typeof turn === "string") throw new SkippedPackage(turn);
  return { turn, messages };
}

function textRows(folder: OutFolder, options: ResolvedExportOptions): RowWriter {
  const lines = new JsonLines(folder, "train.jsonl");
  const pairs = options.style === "openai" ? openaiDpoRow : dpoRow;
  const toRow = options.format === "dpo" ? pairs : ktoRow;
  return {
    async read(from) {
      const { turn } = await judged(from, options);
      const row = toRow(from.manifest, turn);
      if (typeof row === "string") throw new SkippedPackage(row);
      return { facts: { frames: 0, cutTurns: turn.cutTurns }, write: () => lines.add(row) };
    },
    finish: () => lines.finish(),
  };
}

/** The pictures of the judged turn that are whole. */
async function pictures(from: OpenPackage, turn: JudgedTurn, options: ResolvedExportOptions) {
  const { consent, frames } = from.manifest;
  const chosen = consent.frames ? chooseFrames(frames, turn.startMs, options.maxFrames) : [];
  const whole = await from.pictures(chosen.map(({ file }) => file));
  return whole.map(({ file, bytes }) => ({ path: `${from.manifest.name}/${file}`, bytes }));
}

function visionRows(folder: OutFolder, options: ResolvedExportOptions): RowWriter {
  const shards = new ParquetShards(folder, {
    rowsPerGroup: exportLimits.groupRows,
    bytesPerGroup: exportLimits.groupBytes,
    bytesPerShard: exportLimits.shardBytes,
  });
  return {
    async read(from) {
      const { turn } = await judged(from, options);
      // They are written with those of other rows.
      const images = (await pictures(from, turn, options)).map(({ path, bytes }) => ({
        path,
        bytes: Buffer.from(bytes),
      }));
      const row = { ...visionRow(from.manifest, turn, images.length), images };
      return {
        facts: { frames: images.length, cutTurns: turn.cutTurns },
        write: () => shards.add(row),
      };
    },
    finish: () => shards.finish(),
  };
}

function imageFolderRows(folder: OutFolder, options: ResolvedExportOptions): RowWriter {
  const lines = new JsonLines(folder, "metadata.jsonl");
  return {
    async read(from) {
      const { turn } = await judged(from, options);
      const images = await pictures(from, turn, options);
      const row = visionRow(from.manifest, turn, images.length);
      const names = images.map(({ path }) => path);
      return {
        facts: { frames: images.length, cutTurns: turn.cutTurns },
        async write() {
          for (const { path, bytes } of images) await folder.write(path, bytes);
          await lines.add({ ...row, images_file_names: names } satisfies ImageFolderRow);
        },
      };
    },
    finish: () => lines.finish(),
  };
}

function webDatasetRows(folder: OutFolder, options: ResolvedExportOptions): RowWriter {
  const shards = new TarShards(folder, exportLimits.shardBytes);
  return {
    async read(from) {
      const { turn, messages } = await judged(from, options);
      const { members, frames } = await webDatasetMembers(from, { turn, messages }, options);
      return { facts: { frames, cutTurns: turn.cutTurns }, write: () => shards.add(members) };
    },
    finish: () => shards.finish(),
    abandon: () => shards.abandon(),
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

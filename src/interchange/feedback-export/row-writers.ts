import { chooseFrames } from "../../memories/moment/export/frame-choice.ts";
import { type JudgedTurn, judgedTurn } from "../../memories/moment/export/judged-turn.ts";
import {
  dpoRow,
  type ImageFolderRow,
  ktoRow,
  openaiDpoRow,
  packageRow,
  visionRow,
} from "../../memories/moment/export/rows.ts";
import type { PackageMessage } from "../../targets/package/package-format.ts";
import { JsonLines } from "./json-lines.ts";
import { type OpenPackage, SkippedPackage } from "./open-package.ts";
import { exportLimits, type ResolvedExportOptions } from "./options.ts";
import type { OutFolder } from "./out-folder.ts";
import { ParquetShards } from "./parquet-shards.ts";
import { TarShards } from "./tar-shards.ts";
import { webDatasetMembers } from "./webdataset.ts";

/** What a row is made of and with, for the card. */
export interface RowFacts {
  readonly frames: number;
  readonly cutTurns: number;
}

/** Writes the rows of one format. */
export interface RowWriter {
  /** @throws SkippedPackage the package gives no row, and nothing of it was written. */
  add(from: OpenPackage): Promise<RowFacts>;
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
    async add(from) {
      const { turn } = await judged(from, options);
      const row = toRow(from.manifest, turn);
      if (typeof row === "string") throw new SkippedPackage(row);
      await lines.add(row);
      return { frames: 0, cutTurns: turn.cutTurns };
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
    async add(from) {
      const { turn } = await judged(from, options);
      const images = await pictures(from, turn, options);
      await shards.add({ ...visionRow(from.manifest, turn, images.length), images });
      return { frames: images.length, cutTurns: turn.cutTurns };
    },
    finish: () => shards.finish(),
  };
}

function imageFolderRows(folder: OutFolder, options: ResolvedExportOptions): RowWriter {
  const lines = new JsonLines(folder, "metadata.jsonl");
  return {
    async add(from) {
      const { turn } = await judged(from, options);
      const images = await pictures(from, turn, options);
      for (const { path, bytes } of images) await folder.write(path, bytes);
      const row = visionRow(from.manifest, turn, images.length);
      const names = images.map(({ path }) => path);
      await lines.add({ ...row, images_file_names: names } satisfies ImageFolderRow);
      return { frames: images.length, cutTurns: turn.cutTurns };
    },
    finish: () => lines.finish(),
  };
}

function webDatasetRows(folder: OutFolder, options: ResolvedExportOptions): RowWriter {
  const shards = new TarShards(folder, exportLimits.shardBytes);
  return {
    async add(from) {
      const { turn, messages } = await judged(from, options);
      const { members, frames } = await webDatasetMembers(from, { turn, messages }, options);
      await shards.add(members);
      return { frames, cutTurns: turn.cutTurns };
    },
    finish: () => shards.finish(),
    abandon: () => shards.abandon(),
  };
}

function packageRows(folder: OutFolder): RowWriter {
  const lines = new JsonLines(folder, "packages.jsonl");
  return {
    async add(from) {
      await lines.add(packageRow(from.manifest, await from.messages()));
      return { frames: from.manifest.num_frames, cutTurns: 0 };
    },
    finish: () => lines.finish(),
  };
}

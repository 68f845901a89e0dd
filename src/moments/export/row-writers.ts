import { type PackageMessage, wavHeader } from "../package/package-format.ts";
import { chooseFrames } from "./frame-choice.ts";
import { JsonLines, rowText } from "./json-lines.ts";
import { type JudgedTurn, judgedTurn } from "./judged-turn.ts";
import { type OpenPackage, SkippedPackage } from "./open-package.ts";
import { type ExportSettings, exportLimits } from "./options.ts";
import type { OutFolder } from "./out-folder.ts";
import { ParquetShards } from "./parquet-shards.ts";
import {
  dpoRow,
  type ImageFolderRow,
  ktoRow,
  openaiDpoRow,
  packageRow,
  visionRow,
  webDatasetRow,
} from "./rows.ts";
import { type TarMember, TarShards, tarOf } from "./tar-shards.ts";

/** What a row is made of and with, for the card. */
export interface RowFacts {
  readonly frames: number;
  readonly cutTurns: number;
}

/** A row that was read and is not yet written. */
interface ReadRow {
  readonly facts: RowFacts;
  /**
   * Wait for one row before the next. Once it resolves, nothing refers to the memory of the package.
   */
  write(): Promise<void>;
}

/** Reads and writes the rows of one format. */
interface RowWriter {
  /** @throws SkippedPackage the package gives no row. */
  read(from: OpenPackage): Promise<ReadRow>;
  finish(): Promise<void>;
  /** After an error: resolves once nothing writes to the folder any more. */
  abandon?(): Promise<void>;
}

export function rowWriter(folder: OutFolder, options: ExportSettings): RowWriter {
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

async function judged(from: OpenPackage, options: ExportSettings): Promise<Judged> {
  if (!from.manifest.consent.messages) throw new SkippedPackage("no_consent");
  if (from.manifest.target === null) throw new SkippedPackage("no_target");
  const messages = await from.messages();
  const turn = judgedTurn(from.manifest, messages, options.maxPromptChars);
  if (typeof turn === "string") throw new SkippedPackage(turn);
  return { turn, messages };
}

function textRows(folder: OutFolder, options: ExportSettings): RowWriter {
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
async function pictures(from: OpenPackage, turn: JudgedTurn, options: ExportSettings) {
  const { consent, frames } = from.manifest;
  const chosen = consent.frames ? chooseFrames(frames, turn.startMs, options.maxFrames) : [];
  const whole = await from.pictures(chosen.map(({ file }) => file));
  return whole.map(({ file, bytes }) => ({ path: `${from.manifest.name}/${file}`, bytes }));
}

function visionRows(folder: OutFolder, options: ExportSettings): RowWriter {
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

function imageFolderRows(folder: OutFolder, options: ExportSettings): RowWriter {
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

function webDatasetRows(folder: OutFolder, options: ExportSettings): RowWriter {
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

/**
 * A package as members of a shard that lie side by side and share a key. Which members there are
 * never depends on the package, because readers refuse a shard whose groups differ: where there is
 * no picture the inner tar is empty, where there is no sound the WAV has 0 samples. A member for each
 * picture, as `per-frame` has it, is for the webdataset library alone.
 */
async function webDatasetMembers(
  from: OpenPackage,
  { turn, messages }: { readonly turn: JudgedTurn; readonly messages: readonly PackageMessage[] },
  options: ExportSettings,
): Promise<{ readonly members: readonly TarMember[]; readonly frames: number }> {
  const { manifest } = from;
  const key = manifest.name; // a date, a word and hex digits: no dot, which would end the key
  const pictures = manifest.consent.frames ? await allPictures(from) : [];
  const hasSound = manifest.audio !== null && manifest.consent.audio && options.audio;
  const sound = hasSound ? await from.part("audio.wav") : wavHeader(0);
  const row = webDatasetRow(manifest, turn, {
    messages,
    frames: pictures.length,
    samples: hasSound ? manifest.audio.samples : 0,
  });
  const members: TarMember[] = [{ name: `${key}.json`, bytes: Buffer.from(rowText(row)) }];
  if (options.audio) members.push({ name: `${key}.wav`, bytes: sound });
  if (options.layout === "per-frame") {
    for (const { name, bytes } of pictures) members.push({ name: `${key}.${name}`, bytes });
  } else {
    members.push({ name: `${key}.frames.tar`, bytes: await tarOf(pictures) });
  }
  return { members, frames: pictures.length };
}

async function allPictures(from: OpenPackage): Promise<readonly TarMember[]> {
  const whole = await from.pictures(from.manifest.frames.map(({ file }) => file));
  return whole.map(({ file, bytes }) => ({ name: file.slice("frames/".length), bytes }));
}

import { crc32 } from "node:zlib";
import { isJsonObject } from "../../core/json.ts";
import { is, Place } from "../../core/shape.ts";
import { attachmentFile, frameFile } from "./content.ts";
import { packageName } from "./package-name.ts";
import {
  type FileEntry,
  feedbackSchema,
  type Manifest,
  manifestShape,
  messagesShape,
  type PackageMessage,
  type PackageRecord,
} from "./record.ts";

interface ManifestProblem {
  /** `newer`: of a later schema, to be left alone. `seed`: as the originals wrote it, without a schema. */
  readonly kind: "damaged" | "newer" | "seed";
  /** For people; holds the place, never what somebody said. */
  readonly detail: string;
}
export type ManifestReading =
  | { readonly manifest: Manifest; readonly problem?: never }
  | { readonly problem: ManifestProblem; readonly manifest?: never };

/**
 * Reads feedback.json: its CRC, its schema, and the kind of each member. Does not look at the files
 * beside it. Members that are not known are kept.
 */
export function readManifest(bytes: Uint8Array): ManifestReading {
  const parsed = jsonOf(bytes);
  if (!isJsonObject(parsed)) return damaged("feedback.json is not a JSON object");
  const { schema } = parsed;
  if (schema === undefined)
    return { problem: { kind: "seed", detail: "feedback.json names no schema" } };
  if (isLater(schema)) {
    return { problem: { kind: "newer", detail: "feedback.json is of a later schema" } };
  }
  if (schema !== feedbackSchema) return damaged("schema is not one that is known");
  if (!crcHolds(bytes)) return damaged("the CRC of feedback.json does not hold");
  const { crc32: _, ...rest } = parsed;
  const at = new Place();
  manifestShape.read(rest, at);
  const [first] = at.problems;
  const wrong = first?.path.join(".") ?? disagreement(rest as unknown as Manifest);
  if (wrong !== undefined) return damaged(`${wrong} is not what the schema says`);
  return { manifest: rest as unknown as Manifest };
}

/** Reads messages.json. @returns `undefined` when it is not what the format says. */
export function readMessages(bytes: Uint8Array): readonly PackageMessage[] | undefined {
  const parsed = jsonOf(bytes);
  return is(messagesShape, parsed) ? parsed : undefined;
}

export function damaged(detail: string): ManifestReading {
  return { problem: { kind: "damaged", detail } };
}

/** Reads bytes as JSON. @returns `undefined` when they are not. */
export function jsonOf(bytes: Uint8Array, { fatal = true } = {}): unknown {
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal }).decode(bytes));
  } catch {
    return undefined; // the error's message would quote what somebody said
  }
}

function isLater(schema: unknown): boolean {
  if (typeof schema !== "string") return false;
  const [, version] = /^throughline\.feedback\/([1-9]\d{0,8})$/.exec(schema) ?? [];
  return Number(version) > 1;
}

/** Compares the last line with the one that the bytes before it make. */
function crcHolds(bytes: Uint8Array): boolean {
  const lineBytes = crcLine(0).length;
  const bodyBytes = bytes.length - lineBytes;
  if (bodyBytes < 0) return false;
  const line = Buffer.from(bytes.subarray(bodyBytes)).toString("latin1");
  return line === crcLine(crc32(bytes.subarray(0, bodyBytes)));
}

/** Members that say the same thing twice must agree, or a name could lie about its content. */
function disagreement(manifest: Manifest): string | undefined {
  const { uuid, id, name, timestamp_str, sentiment, frames, audio, files } = manifest;
  if (!uuid.endsWith(id)) return "id";
  if (name !== packageName(timestamp_str, sentiment, uuid)) return "name";
  if (manifest.num_frames !== frames.length) return "num_frames";
  if (manifest.audio_samples !== (audio?.samples ?? 0)) return "audio_samples";
  if (frames.some(({ file }, index) => file !== frameFile(index))) return "frames";
  const sent = files.filter(({ path, sha256 }) => path === attachmentFile(sha256));
  const paths = files.filter((file) => !sent.includes(file)).map(({ path }) => path);
  if (new Set(sent.map(({ path }) => path)).size < sent.length) return "files";
  const wanted = frames.map(({ file }) => file);
  if (audio !== null) wanted.push(audio.file);
  wanted.push("messages.json");
  const isSame = paths.toSorted().join("\n") === wanted.sort().join("\n");
  return isSame ? undefined : "files";
}

/** Adds what the writer of the files knows: the whole of feedback.json, in the order of the shape. */
export function sealRecord(record: PackageRecord, files: readonly FileEntry[]): Manifest {
  return manifestShape.write({ ...record, files }) as unknown as Manifest;
}

/**
 * The bytes of feedback.json: JSON with indent 2, and on a line of its own, last, the CRC-32 of every
 * byte before that line. The same manifest always gives the same bytes.
 */
export function writeManifest(manifest: Manifest): Buffer {
  const text = JSON.stringify(manifest, null, 2);
  const body = Buffer.from(`${text.slice(0, -"\n}".length)},\n`);
  return Buffer.concat([body, Buffer.from(crcLine(crc32(body)))]);
}

/** How feedback.json ends. */
function crcLine(crc: number): string {
  return `  "crc32": "${crc.toString(16).padStart(8, "0")}"\n}\n`;
}

// A package as the original wrote it (6 digits, local time, no seal) becomes one of ours: a copy. What
// the original did not keep, above all the times of pictures and sound, is null.
import { join } from "node:path";
import { absent, invalid } from "../../core/errors.ts";
import { isJsonObject, type Json } from "../../core/json.ts";
import { sha256 } from "../../core/sha256.ts";
import type { Disk } from "../../core/storage/disk/disk.ts";
import {
  audioFile,
  audioFormat,
  frameFile,
  messagesBytes,
  messagesFile,
  wavHeader,
  wavHeaderBytes,
} from "../package/content.ts";
import { jsonOf } from "../package/manifest.ts";
import { makeUuidV7, packageId, packageName, packageStamp } from "../package/package-name.ts";
import type { SealedMoment } from "../package/package-sink.ts";
import {
  type FrameEntry,
  feedbackSchema,
  type MessageRole,
  type PackageMessage,
  type PackageRecord,
} from "../package/record.ts";
import { jpegFacts } from "../record/media.ts";
import { entriesOf, type PackagePorts, readWhole, secondsNow } from "./names.ts";
import { saveCopy } from "./save-package.ts";

export interface SeedImportOptions {
  /**
   * What the people in it agreed to; the original did not ask.
   * @default { upload: false, export: false, by: null }
   */
  readonly consent?: {
    readonly upload: boolean;
    readonly export: boolean;
    readonly by: string | null;
  };
}

export interface ImportedSeed {
  readonly name: string;
  /** False: it was imported before; nothing was written. */
  readonly isNew: boolean;
  /** What could not be taken, and why. */
  readonly leftOut: readonly { readonly path: string; readonly reason: string }[];
}

type LeftOut = ImportedSeed["leftOut"][number];
const noConsent = { upload: false, export: false, by: null } as const;

/**
 * Seals a copy of a seed's folder. The same folder always gives the same uuid and name.
 *
 * @throws ThroughlineError `THROUGHLINE_NOT_FOUND`: no feedback.json there. `THROUGHLINE_INVALID`: it
 * is not one of a seed.
 */
export async function importSeed(
  ports: PackagePorts,
  folder: string,
  { consent = noConsent }: SeedImportOptions,
): Promise<ImportedSeed> {
  const { disk } = ports;
  const bytes = await readWhole(disk, join(folder, "feedback.json"));
  if (bytes === undefined) throw absent("there is no feedback.json");
  const seed = seedOf(bytes);
  const leftOut: LeftOut[] = [];
  const messages = await readWords(disk, folder, leftOut);
  const audio = await readSound(disk, folder, leftOut);
  const pictures = await readFrames(disk, folder, leftOut);
  const hash = sha256(Buffer.concat([bytes, messagesBytes(messages)]));
  const uuid = makeUuidV7(seed.at, (into) => into.set(hash.subarray(0, into.length)));
  const record: PackageRecord = {
    ...seed.record,
    id: packageId(uuid),
    uuid,
    name: packageName(seed.record.timestamp_str, seed.record.sentiment, uuid),
    sealed_timestamp: secondsNow(ports.clock),
    num_messages: messages.length,
    num_frames: pictures.length,
    audio_samples: audio?.length ?? 0,
    consent: {
      messages: true,
      frames: pictures.length > 0,
      audio: audio !== null,
      upload: consent.upload,
      export: consent.export,
      by: consent.by,
      wording: null,
      timestamp: null,
    },
    window: {
      pre_ms: 0,
      post_ms: 0,
      from: "ring",
      first_seq: messages[0]?.seq ?? null,
      last_seq: messages.at(-1)?.seq ?? null,
    },
    frames: pictures.map(({ entry }) => entry),
    audio: audio && {
      ...audioFormat,
      samples: audio.length,
      start_t_ms: null,
      source_t_ms: null,
    },
  };
  const frames = pictures.map(({ jpeg }) => jpeg);
  const moment: SealedMoment = { record, messages, frames, audio };
  const isNew = await ports.changes.run(record.name, () => saveCopy(ports, moment));
  return { name: record.name, isNew, leftOut };
}

/** What feedback.json tells, and when it was, in milliseconds since 1970. */
function seedOf(bytes: Buffer) {
  const fields = jsonOf(bytes, { fatal: false });
  if (!isJsonObject(fields)) throw invalid("feedback.json is not a JSON object");
  if (fields["schema"] !== undefined) throw invalid("feedback.json is not that of a seed");
  const { sentiment, timestamp, audio_chunks: chunks } = fields;
  if (sentiment !== "positive" && sentiment !== "negative") {
    throw invalid("sentiment is neither positive nor negative");
  }
  if (typeof timestamp !== "number" || !(timestamp >= 0 && timestamp < 253_402_300_800)) {
    throw invalid("timestamp is not a time in seconds");
  }
  const at = Math.round(timestamp * 1_000);
  const trigger = textOf(fields["trigger"]).slice(0, 500);
  const record = {
    timestamp: at / 1_000,
    timestamp_str: packageStamp(at),
    sentiment,
    what: textOf(fields["what"]).slice(0, 2_000),
    trigger,
    audio_chunks: Number.isSafeInteger(chunks) && Number(chunks) >= 0 ? Number(chunks) : 0,
    session_id: textOf(fields["session_id"]) || "unknown",
    chat_id: null,
    provider: null,
    model: null,
    source: "skill",
    schema: feedbackSchema,
    channel: "other",
    score: sentiment === "positive" ? 1 : -1,
    correction: null,
    // The model called the skill; with a trigger it passed on what somebody did.
    annotator: { kind: trigger === "" ? "model" : "human", id: null },
    target: null,
    target_reason: null,
    trigger_turn: null,
    people: [],
    matched: [],
    redactions: [],
    reduced: null,
    supersedes: null,
    trace: null,
    latched: {},
    software: { name: "reachy_nova", version: "unknown" },
  } as const;
  return { at, record };
}

async function readWords(
  disk: Disk,
  folder: string,
  leftOut: LeftOut[],
): Promise<readonly PackageMessage[]> {
  const bytes = await readWhole(disk, join(folder, messagesFile));
  const value = bytes === undefined ? undefined : jsonOf(bytes, { fatal: false });
  if (!Array.isArray(value)) {
    leftOut.push({ path: messagesFile, reason: "not a list" });
    return [];
  }
  const messages: PackageMessage[] = [];
  for (const [index, item] of (value as readonly Json[]).entries()) {
    const message = messageOf(item, messages.length + 1);
    if (message !== undefined) messages.push(message);
    else leftOut.push({ path: `${messagesFile}[${index}]`, reason: "not a message" });
  }
  return messages;
}

const roles: readonly unknown[] = ["USER", "ASSISTANT", "SYSTEM", "TOOL"];

function messageOf(item: Json, seq: number): PackageMessage | undefined {
  if (!isJsonObject(item)) return undefined;
  const { text, timestamp } = item;
  const role = textOf(item["role"]).toUpperCase();
  if (!roles.includes(role) || typeof text !== "string") return undefined;
  return {
    role: role as MessageRole,
    text,
    seq,
    id: `seed-${seq}`,
    turn_id: null,
    timestamp: typeof timestamp === "number" ? timestamp : null,
    t_ms: null,
    synthetic: null,
    interrupted: false,
    delivered: null,
    truncated: false,
    tool_calls: null,
    tool_call_id: null,
  };
}

async function readSound(disk: Disk, folder: string, leftOut: LeftOut[]) {
  const bytes = await readWhole(disk, join(folder, audioFile));
  if (bytes === undefined) return null;
  const samples = Math.floor((bytes.length - wavHeaderBytes) / 2);
  // The header is rewritten below: only its kind matters, not its lengths.
  const kind = (header: Buffer) => Buffer.concat([header.subarray(0, 4), header.subarray(8, 40)]);
  if (samples < 1 || !kind(bytes).equals(kind(wavHeader(0)))) {
    leftOut.push({ path: audioFile, reason: "not 16 kHz mono with 16 bits" });
    return null;
  }
  const sound = Uint8Array.from(bytes.subarray(wavHeaderBytes, wavHeaderBytes + samples * 2));
  return new Int16Array(sound.buffer);
}

async function readFrames(disk: Disk, folder: string, leftOut: LeftOut[]) {
  const directory = join(folder, "frames");
  const names = ((await entriesOf(disk, directory)) ?? []).map(({ name }) => name).sort();
  const frames: { readonly entry: FrameEntry; readonly jpeg: Buffer }[] = [];
  for (const name of names) {
    const isFrame = /^\d{6}\.jpg$/.test(name);
    const jpeg = isFrame ? await readWhole(disk, join(directory, name)) : undefined;
    const facts = jpeg && jpegFacts(jpeg);
    if (jpeg === undefined || facts === undefined || facts.bytes < jpeg.length) {
      leftOut.push({ path: `frames/${name}`, reason: "not a whole JPEG" });
      continue;
    }
    const { width, height } = facts;
    const unknown = { t_ms: null, timestamp: null, seq: null, camera: null, source_t_ms: null };
    frames.push({ entry: { file: frameFile(frames.length), width, height, ...unknown }, jpeg });
  }
  return frames;
}

function textOf(value: Json | undefined): string {
  return typeof value === "string" ? value : "";
}

// Packages in memory, for tests of what reads them. All that could differ between two runs is fixed.
import { createHash } from "node:crypto";
import { ThroughlineError } from "../../src/core/errors.ts";
import type { Disk } from "../../src/core/storage/disk/disk.ts";
import type { PackageEntry, ReadPackages } from "../../src/moments/directory/read-package.ts";
import type { SkipReason } from "../../src/moments/export/selection.ts";
import { messagesBytes, wavHeader } from "../../src/moments/package/content.ts";
import { readManifest, readMessages, writeManifest } from "../../src/moments/package/manifest.ts";
import { packageName, packageStamp } from "../../src/moments/package/package-name.ts";
import {
  feedbackSchema,
  type Manifest,
  type PackageMessage,
  type Target,
} from "../../src/moments/package/record.ts";

/** 16 by 8 pixels of one red. */
export const redJpeg = Buffer.from(
  "/9j/2wBDABsSFBcUERsXFhceHBsgKEIrKCUlKFE6PTBCYFVlZF9VXVtqeJmBanGQc1tdhbWGkJ6jq62rZ4C8ybqmx5mo" +
    "q6T/2wBDARweHigjKE4rK06kbl1upKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSk" +
    "pKT/wAARCAAIABADASIAAhEBAxEB/8QAFQABAQAAAAAAAAAAAAAAAAAAAAT/xAAUEAEAAAAAAAAAAAAAAAAAAAAA/8QA" +
    "FQEBAQAAAAAAAAAAAAAAAAAAAwX/xAAUEQEAAAAAAAAAAAAAAAAAAAAA/9oADAMBAAIRAxEAPwCIAaw//9k=",
  "base64",
);

/** Of package 0; each later one is a minute later. */
export const firstTrigger = 1_771_515_000;

/** A message by role, text and what differs from an ordinary one. */
export type Line = readonly [
  role: PackageMessage["role"],
  text: string,
  more?: Partial<PackageMessage>,
];

export interface PackageShape {
  readonly lines?: readonly Line[];
  /** Indexes into `lines`; the messages between that are not ASSISTANT or TOOL are no part of it. */
  readonly target?: readonly [first: number, last: number] | null;
  /** The index of the user message that is the praise. */
  readonly praise?: number;
  /** Times of the pictures, or pictures with their bytes. */
  readonly frames?: readonly (number | readonly [tMs: number | null, jpeg: Uint8Array])[];
  /** Samples of sound; each is its own number. */
  readonly samples?: number;
  readonly manifest?: Partial<Manifest>;
  /** Why it is not even to be read. */
  readonly reason?: SkipReason;
}

export interface SamplePackage {
  readonly name: string;
  readonly manifest: Manifest;
  readonly messages: readonly PackageMessage[];
  readonly reason: SkipReason | undefined;
  /** By path, `feedback.json` among them. */
  readonly files: Map<string, Buffer>;
}

const joke: readonly Line[] = [
  ["USER", "Tell me a joke."],
  ["ASSISTANT", "Why did the cat sit on the computer?"],
  ["ASSISTANT", "To keep an eye on the mouse."],
  ["USER", "Haha, good!"],
];

/** A person asks for a joke, gets it, laughs: unless the shape says otherwise. */
export function samplePackage(number: number, shape: PackageShape = {}): SamplePackage {
  const { lines = joke, target = [1, 2], praise = lines.length - 1 } = shape;
  const messages = lines.map((line, index) => message(number, line, index));
  const files = new Map([["messages.json", messagesBytes(messages)]]);
  if (shape.samples !== undefined) files.set("audio.wav", wav(shape.samples));
  const frames = (shape.frames ?? []).map((frame, index) => {
    const [t_ms, bytes] = typeof frame === "number" ? [frame, redJpeg] : frame;
    const file = `frames/${String(index).padStart(6, "0")}.jpg`;
    files.set(file, Buffer.from(bytes));
    const timestamp = t_ms === null ? null : firstTrigger + number * 60 + t_ms / 1_000;
    return { file, t_ms, timestamp, ...{ seq: index + 1, width: 16, height: 8 }, ...source };
  });
  const judged = target === null ? null : targetOf(messages, target);
  const manifest: Manifest = {
    ...record(number, shape.manifest?.sentiment ?? "positive"),
    ...{ num_messages: messages.length, num_frames: frames.length, frames },
    audio_samples: shape.samples ?? 0,
    audio: shape.samples === undefined ? null : audio(shape.samples),
    target: judged,
    target_reason: judged === null ? "no_assistant_turn" : null,
    trigger_turn: praiseOf(messages, praise),
    ...shape.manifest,
    files: [...files].map(([path, bytes]) => ({
      ...{ path, bytes: bytes.length, media_type: mediaType(path) },
      sha256: sha256Of(bytes),
    })),
  };
  files.set("feedback.json", writeManifest(manifest));
  const { name } = manifest;
  return { name, manifest, messages, files, reason: shape.reason };
}

/** Packages as an export gets them. Notes what was read, and which were verified. */
export class SamplePackages implements ReadPackages {
  readonly #packages: Map<string, SamplePackage>;
  readonly reads: string[] = [];
  readonly verified: string[] = [];
  /** Called before bytes are read. */
  beforeRead: (() => Promise<void>) | undefined;

  constructor(packages: readonly SamplePackage[]) {
    this.#packages = new Map(packages.map((one) => [one.name, one]));
  }
  async *entries() {
    for (const one of this.#packages.values()) yield entryOf(one);
  }
  async read(name: string) {
    const { manifest } = readManifest(await this.part(name, "feedback.json"));
    const messages = readMessages(await this.part(name, "messages.json"));
    if (manifest === undefined || messages === undefined) {
      throw new ThroughlineError("it is damaged", { code: "THROUGHLINE_CORRUPT" });
    }
    return { manifest, messages, status: undefined, incomplete: [] };
  }
  async part(name: string, path: string) {
    this.reads.push(`${name}/${path}`);
    await this.beforeRead?.();
    const bytes = this.#packages.get(name)?.files.get(path);
    if (bytes !== undefined) return bytes;
    throw new ThroughlineError("there is no such file", { code: "THROUGHLINE_NOT_FOUND" });
  }
  async verify(name: string) {
    this.verified.push(name);
    const { manifest, files } = this.#packages.get(name) ?? {};
    const isWhole = manifest?.files.every(({ path, sha256 }) => {
      const bytes = files?.get(path);
      return bytes !== undefined && sha256Of(bytes) === sha256;
    });
    return { name, state: isWhole ? "whole" : "damaged", differences: [] } as const;
  }
}

function entryOf({ name, manifest, reason }: SamplePackage): PackageEntry {
  const mark = { timestamp: 1, by: null, reason: null };
  const isMarked = reason === "retracted" || reason === "superseded";
  const superseded_by = reason === "superseded" ? "0".repeat(12) : null;
  const retracted = isMarked ? { ...mark, superseded_by } : null;
  const isRead = reason === undefined || isMarked;
  return {
    ...{ name, state: isRead ? "sealed" : reason === "newer" ? "newer" : "damaged", detail: null },
    ...{ manifest: isRead ? manifest : undefined, bytes: 0 },
    status: { uploaded: [], preserved: null, retracted },
  };
}

const sha256Of = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");

const source = { camera: "front", source_t_ms: null } as const;
function message(number: number, [role, text, more]: Line, index: number): PackageMessage {
  const t_ms = -10_000 + index * 1_000;
  const timestamp = firstTrigger + number * 60 + t_ms / 1_000;
  return {
    ...{ role, text, timestamp, id: `m${number}-${index}`, seq: index + 1 },
    ...{ turn_id: null, t_ms, synthetic: null, interrupted: false, delivered: null },
    ...{ truncated: false, tool_calls: null, tool_call_id: null },
    ...more,
  };
}

function targetOf(
  messages: readonly PackageMessage[],
  [first, last]: readonly [number, number],
): Target {
  const own = messages
    .slice(first, last + 1)
    .filter(
      ({ role, synthetic }) => synthetic === null && (role === "ASSISTANT" || role === "TOOL"),
    );
  return {
    turn_id: own[0]?.turn_id ?? null,
    message_ids: own.map(({ id }) => id),
    ...{ index: first, count: last + 1 - first, how: "last-assistant" },
    ...{ partial: false, interrupted: false },
  };
}

function praiseOf(messages: readonly PackageMessage[], index: number): Manifest["trigger_turn"] {
  const found = messages[index];
  if (found === undefined) return null;
  return { turn_id: found.turn_id, message_id: found.id, index };
}

const schema: Manifest["schema"] = feedbackSchema;

function record(number: number, sentiment: Manifest["sentiment"]) {
  const timestamp = firstTrigger + number * 60;
  const uuid = `019c7700-0000-7000-8000-${number.toString(16).padStart(12, "0")}`;
  const timestamp_str = packageStamp(timestamp * 1_000);
  return {
    ...{ id: uuid.slice(-12), timestamp, timestamp_str, sentiment },
    ...{ what: "told a joke", trigger: "laughter", audio_chunks: 0, session_id: "5e55104d" },
    ...{ chat_id: "local:me", provider: "nova", model: "sonic", source: "skill" as const },
    ...{ schema, uuid, name: packageName(timestamp_str, sentiment, uuid) },
    ...{ channel: "speech" as const, score: sentiment === "positive" ? 1 : -1, correction: null },
    annotator: { kind: "human" as const, id: null },
    ...{ people: ["Ada"], matched: [], redactions: [], reduced: null, supersedes: null },
    consent: {
      ...{ messages: true, frames: true, audio: true, upload: true, export: true },
      ...{ wording: "May the last two minutes of picture and sound be kept?" },
      ...{ timestamp: firstTrigger - 3_600, by: "Ada" },
    },
    ...{ trace: null, latched: { system_prompt: "You are a small robot." } },
    window: {
      ...{ pre_ms: 10_000, post_ms: 0, from: "ring" as const, first_seq: 1, last_seq: 4 },
    },
    software: { name: "throughline", version: "0.1.0" },
    sealed_timestamp: timestamp + 1,
  };
}

function audio(samples: number): NonNullable<Manifest["audio"]> {
  const start_t_ms = -samples / 16;
  return {
    ...{ file: "audio.wav", rate_hz: 16_000, channels: 1, bits: 16, samples, start_t_ms },
    source_t_ms: null,
  };
}

function wav(samples: number): Buffer {
  const pcm = Int16Array.from({ length: samples }, (_, index) => index);
  return Buffer.concat([wavHeader(samples), new Uint8Array(pcm.buffer)]);
}

function mediaType(path: string): string {
  if (path.endsWith(".json")) return "application/json";
  return path.endsWith(".wav") ? "audio/wav" : "image/jpeg";
}

/** What lies under a folder of a disk, by path from there; undefined: no such folder. */
export async function filesUnder(
  disk: Disk,
  folder: string,
): Promise<ReadonlyMap<string, Buffer> | undefined> {
  const files = new Map<string, Buffer>();
  const walk = async (path: string, prefix: string) => {
    for (const { name, kind } of await disk.list(path)) {
      if (kind === "directory") await walk(`${path}/${name}`, `${prefix}${name}/`);
      else files.set(prefix + name, await content(disk, `${path}/${name}`));
    }
  };
  try {
    await walk(folder, "");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  }
  return new Map([...files].sort(([a], [b]) => (a < b ? -1 : 1)));
}

async function content(disk: Disk, path: string): Promise<Buffer> {
  const file = await disk.open(path, "read");
  const bytes = Buffer.alloc(await file.size());
  await file.read(bytes, 0);
  await file.close();
  return bytes;
}

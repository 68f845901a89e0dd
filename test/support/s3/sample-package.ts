import { createHash } from "node:crypto";
import { frameFile, mediaTypeOf, partsOf } from "../../../src/moments/package/content.ts";
import { sealRecord, writeManifest } from "../../../src/moments/package/manifest.ts";
import { packageId, packageName, packageStamp } from "../../../src/moments/package/package-name.ts";
import type { AudioRef, SealedMoment } from "../../../src/moments/package/package-sink.ts";
import {
  feedbackSchema,
  type Manifest,
  type PackageRecord,
} from "../../../src/moments/package/record.ts";

export interface SamplePackage {
  readonly name: string;
  readonly sessionId: string;
  readonly manifest: Manifest;
  /** What is saved to become this package, byte for byte. */
  readonly moment: SealedMoment;
  /** Every file by its path, `feedback.json` the last. */
  readonly files: ReadonlyMap<string, Buffer>;
}

export interface SampleOptions {
  /** Makes name and content: two packages of one number are equal. @default 0 */
  readonly number?: number;
  /** @default 1 */
  readonly frames?: number;
  /** Of one frame. @default 700 */
  readonly frameBytes?: number;
  /** @default "a1b2c3d4" */
  readonly sessionId?: string;
  readonly withAudio?: boolean;
}

const firstAt = Date.parse("2026-03-01T12:00:00.000Z");
const allowed = { messages: true, frames: true, audio: true, upload: true, export: true };

/** A package, and the moment that it is made of. */
export function samplePackage(options: SampleOptions = {}): SamplePackage {
  const { number = 0, frames = 1, frameBytes = 700, withAudio = true } = options;
  const { sessionId = "a1b2c3d4" } = options;
  const samples = withAudio ? 200 : 0;
  const audio: AudioRef | null = withAudio
    ? { pcm: [new Int16Array(samples).fill(number + 1)], samples }
    : null;
  const record = sampleRecord(number, sessionId, frames, samples);
  const moment: SealedMoment = {
    record,
    messages: [],
    frames: Array.from({ length: frames }, (_, index) => {
      return Buffer.alloc(frameBytes, (number + index) % 251);
    }),
    audio,
  };
  const files = new Map<string, Buffer>();
  for (const { path, pieces } of partsOf(moment)) files.set(path, Buffer.concat(pieces));
  const listed = Array.from(files, ([path, body]) => ({
    path,
    bytes: body.length,
    sha256: createHash("sha256").update(body).digest("hex"),
    media_type: mediaTypeOf(path),
  }));
  const manifest = sealRecord(record, listed);
  files.set("feedback.json", writeManifest(manifest));
  return { name: manifest.name, sessionId, manifest, moment, files };
}

function sampleRecord(
  number: number,
  sessionId: string,
  frames: number,
  samples: number,
): PackageRecord {
  const at = firstAt + number * 1_000;
  const uuid = `01890a5d-ac96-7000-8000-${(0xa1b2c3000000 + number).toString(16)}`;
  const stamp = packageStamp(at);
  return {
    ...{ id: packageId(uuid), timestamp: at / 1_000, timestamp_str: stamp, sentiment: "positive" },
    ...{ what: "a joke", trigger: "", num_messages: 0, num_frames: frames },
    ...{ audio_chunks: samples === 0 ? 0 : 1, session_id: sessionId, chat_id: "c" },
    ...{ provider: null, model: null, source: "http", audio_samples: samples },
    ...{ schema: feedbackSchema, uuid, name: packageName(stamp, "positive", uuid) },
    ...{ channel: "touch", score: 1, correction: null, annotator: { kind: "human", id: null } },
    ...{ target: null, target_reason: "no_assistant_turn", trigger_turn: null, people: [] },
    ...{ matched: [], consent: { ...allowed, wording: null, timestamp: null, by: null } },
    ...{ redactions: [], reduced: null, supersedes: null, trace: null, latched: {} },
    window: {
      ...{ pre_ms: 1, post_ms: 0, from: "ring", first_seq: null, last_seq: null },
    },
    frames: Array.from({ length: frames }, (_, index) => ({
      ...{ file: frameFile(index), t_ms: -index, timestamp: null, seq: index, width: 8, height: 8 },
      ...{ camera: null, source_t_ms: null },
    })),
    audio:
      samples === 0
        ? null
        : {
            ...{ file: "audio.wav", rate_hz: 16_000, channels: 1, bits: 16, samples },
            ...{ start_t_ms: -1, source_t_ms: null },
          },
    software: { name: "throughline", version: "0.1.0" },
    sealed_timestamp: at / 1_000,
  };
}

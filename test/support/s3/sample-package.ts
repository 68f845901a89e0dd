import { createHash } from "node:crypto";
import {
  feedbackSchema,
  type Manifest,
  messagesBytes,
  packageId,
  packageName,
  packageStamp,
  writeManifest,
} from "../../../src/moments/package/package-format.ts";

export interface SamplePackage {
  readonly name: string;
  readonly sessionId: string;
  readonly manifest: Manifest;
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

/** A package as one lies on a disk, for whoever sends or reads packages. */
export function samplePackage(options: SampleOptions = {}): SamplePackage {
  const { number = 0, frames = 1, frameBytes = 700, withAudio = true } = options;
  const { sessionId = "a1b2c3d4" } = options;
  const parts = new Map<string, { readonly body: Buffer; readonly media: string }>();
  parts.set("messages.json", { body: messagesBytes([]), media: "application/json" });
  const samples = 200;
  if (withAudio) {
    const body = Buffer.alloc(44 + samples * 2, number + 1);
    parts.set("audio.wav", { body, media: "audio/wav" });
  }
  for (let index = 0; index < frames; index++) {
    const path = `frames/${String(index).padStart(6, "0")}.jpg`;
    const body = Buffer.alloc(frameBytes, (number + index) % 251);
    parts.set(path, { body, media: "image/jpeg" });
  }
  const manifest = sampleManifest(number, sessionId, parts, withAudio ? samples : 0);
  const files = new Map(Array.from(parts, ([path, { body }]) => [path, body]));
  files.set("feedback.json", writeManifest(manifest));
  return { name: manifest.name, sessionId, manifest, files };
}

function sampleManifest(
  number: number,
  sessionId: string,
  parts: ReadonlyMap<string, { readonly body: Buffer; readonly media: string }>,
  samples: number,
): Manifest {
  const at = firstAt + number * 1_000;
  const uuid = `01890a5d-ac96-7000-8000-${(0xa1b2c3000000 + number).toString(16)}`;
  const stamp = packageStamp(at);
  const frames = Array.from(parts.keys()).filter((path) => path.startsWith("frames/"));
  const files = Array.from(parts, ([path, { body, media }]) => ({
    ...{ path, bytes: body.length, media_type: media },
    sha256: createHash("sha256").update(body).digest("hex"),
  }));
  return {
    ...{ id: packageId(uuid), timestamp: at / 1_000, timestamp_str: stamp, sentiment: "positive" },
    ...{ what: "a joke", trigger: "", num_messages: 0, num_frames: frames.length },
    ...{ audio_chunks: samples === 0 ? 0 : 1, session_id: sessionId, chat_id: null },
    ...{ provider: null, model: null, source: "http", audio_samples: samples },
    ...{ schema: feedbackSchema, uuid, name: packageName(stamp, "positive", uuid) },
    ...{ channel: "touch", score: 1, correction: null, annotator: { kind: "human", id: null } },
    ...{ target: null, target_reason: "no_assistant_turn", trigger_turn: null, people: [] },
    ...{ matched: [], consent: { ...allowed, wording: null, timestamp: null, by: null } },
    ...{ redactions: [], reduced: null, supersedes: null, trace: null, latched: {} },
    clock: { mono_ms: 1, boot_id: null, zone: null, steps: [], suspends: [] },
    window: {
      ...{ pre_ms: 1, post_ms: 0, from: "ring", first_seq: null, last_seq: null, overlaps: [] },
    },
    frames: frames.map((file, index) => ({
      ...{ file, t_ms: -index, timestamp: null, seq: index, width: 8, height: 8 },
      ...{ camera: null, source_t_ms: null },
    })),
    audio:
      samples === 0
        ? null
        : {
            ...{ file: "audio.wav", rate_hz: 16_000, channels: 1, bits: 16, samples },
            ...{ start_t_ms: -1, anchors: [{ sample: 0, t_ms: -1 }], gaps: [] },
          },
    ...{ loss: null, software: { name: "throughline", version: "0.1.0" } },
    ...{ sealed_timestamp: at / 1_000, salvaged: false, spilled: false, files },
  };
}

// Moments, directories of packages, and what must hold of a directory after anything that can happen.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { join } from "node:path";
import { type Logger, silentLogger } from "../../src/core/logger.ts";
import type { Disk } from "../../src/core/storage/disk/disk.ts";
import type { RepairReport } from "../../src/core/storage/storage.ts";
import type { PackageDirectoryOptions } from "../../src/moments/directory/names.ts";
import { PackageDirectory } from "../../src/moments/directory/package-directory.ts";
import { attachmentFile, frameFile } from "../../src/moments/package/content.ts";
import {
  makeUuidV7,
  packageId,
  packageName,
  packageStamp,
} from "../../src/moments/package/package-name.ts";
import type { SealedMoment } from "../../src/moments/package/package-sink.ts";
import {
  feedbackSchema,
  type PackageMessage,
  type PackageRecord,
} from "../../src/moments/package/record.ts";
import { HeldClock } from "./held-clock.ts";
import type { SimulatedDisk } from "./simulated-disk.ts";

export const path = "/home/feedback";
const firstAt = Date.parse("2026-02-19T15:30:00.250Z");

export interface MomentShape {
  readonly frames?: number;
  readonly frameBytes?: number;
  readonly samples?: number;
  readonly messages?: number;
  /** A file was sent with its words. */
  readonly withFile?: true;
  readonly record?: Partial<PackageRecord>;
}

/** A moment that its number decides, each a second after the one before. */
export function momentOf(number: number, shape: MomentShape = {}): SealedMoment {
  const { frames = 3, frameBytes = 300, samples = 1_000, messages = 2 } = shape;
  const at = firstAt + number * 1_000;
  const hash = createHash("sha256").update(`moment ${number}`).digest();
  const uuid = makeUuidV7(at, (into) => into.set(hash.subarray(0, into.length)));
  const timestamp_str = packageStamp(at);
  const audio = samples === 0 ? null : soundOf(number, samples);
  const record: PackageRecord = {
    ...{ id: packageId(uuid), timestamp: at / 1_000, timestamp_str, sentiment: "positive" },
    ...{ what: `a joke ${number}`, trigger: "pat", num_messages: messages, num_frames: frames },
    ...{
      audio_chunks: Math.ceil(samples / 320),
      session_id: "a1b2c3d4",
      chat_id: `chat:${number % 2}`,
    },
    ...{ provider: null, model: null, source: "skill", audio_samples: samples },
    ...{ schema: feedbackSchema, uuid, name: packageName(timestamp_str, "positive", uuid) },
    ...{ channel: "touch", score: 1, correction: null, annotator: { kind: "human", id: null } },
    target: targetOf(messages),
    ...{ target_reason: null, trigger_turn: null, people: ["Ori"], matched: [] },
    consent: {
      ...{ messages: true, frames: true, audio: true, upload: true, export: true },
      ...{ wording: "two minutes", timestamp: at / 1_000, by: "Ori" },
    },
    ...{ redactions: [], reduced: null, supersedes: null, trace: null, latched: {} },
    window: {
      ...{ pre_ms: 1_500, post_ms: 0, from: "ring" },
      ...{ first_seq: messages === 0 ? null : 1, last_seq: messages === 0 ? null : messages },
    },
    frames: Array.from({ length: frames }, (_, index) => ({
      ...{ file: frameFile(index), t_ms: -500 * (frames - index), timestamp: at / 1_000 },
      ...{ seq: index + 1, width: 64, height: 48, camera: null, source_t_ms: null },
    })),
    audio:
      audio === null
        ? null
        : {
            ...{ file: "audio.wav", rate_hz: 16_000, channels: 1, bits: 16, samples },
            ...{ start_t_ms: -1_500, source_t_ms: null },
          },
    software: { name: "throughline", version: "0.0.0" },
    sealed_timestamp: at / 1_000,
    ...shape.record,
  } as PackageRecord;
  const file = Buffer.from(`a file of ${number}`);
  const sha256 = createHash("sha256").update(file).digest("hex");
  return {
    record,
    attachments: new Map(shape.withFile ? [[sha256, file]] : []),
    messages: Array.from({ length: messages }, (_, index) => messageOf(number, index, at)),
    frames: Array.from({ length: frames }, (_, index) => jpegOf(number, index, frameBytes)),
    audio,
  };
}

function targetOf(messages: number): PackageRecord["target"] {
  if (messages < 2) return null;
  return {
    ...{ turn_id: "t1", message_ids: ["m1"], index: 1, count: 1, how: "last-assistant" },
    ...{ partial: false, interrupted: false },
  };
}

function messageOf(number: number, index: number, at: number): PackageMessage {
  return {
    role: index % 2 === 0 ? "USER" : "ASSISTANT",
    ...{ text: `said ${number} ${index}`, timestamp: at / 1_000, id: `m${index}`, seq: index + 1 },
    ...{ turn_id: "t1", t_ms: -1_000, synthetic: null, interrupted: false, delivered: null },
    ...{ truncated: false, tool_calls: null, tool_call_id: null },
  };
}

/** Bytes with both markers of a JPEG and a frame header of 64 by 48. */
export function jpegOf(number: number, index: number, bytes: number): Uint8Array {
  const head = [0xff, 0xd8, 0xff, 0xc0, 0, 11, 8, 0, 48, 0, 64, 1, 1, 0x11, 0];
  const body = Uint8Array.from(
    { length: bytes - head.length - 2 },
    (_, at) => (at * 7 + number * 31 + index) % 251,
  );
  return Uint8Array.from([...head, ...body, 0xff, 0xd9]);
}

function soundOf(number: number, samples: number): Int16Array {
  return Int16Array.from({ length: samples }, (_, at) => (at * 13 + number) % 30_000);
}

/** Notes what was not as it was left. */
export function notingRepairs(reports: RepairReport[]): Logger {
  const warn = (fields: { readonly repair?: RepairReport }) => {
    if (fields.repair !== undefined) reports.push(fields.repair);
  };
  return { ...silentLogger, warn };
}

export interface Opened {
  readonly packages: PackageDirectory;
  readonly reports: RepairReport[];
  readonly clock: HeldClock;
}

export async function openPackages(
  disk: Disk,
  options: Partial<PackageDirectoryOptions> = {},
): Promise<Opened> {
  const clock = new HeldClock("2026-03-01T12:00:00.000Z");
  const reports: RepairReport[] = [];
  let ids = 0;
  const packages = await PackageDirectory.open({
    ...{ disk, path, clock, newId: () => `id${ids++}` },
    logger: notingRepairs(reports),
    ...options,
  });
  return { packages, reports, clock };
}

/** Every package by name, each verified, and read in full; and that nothing half is left. */
export async function wholePackages(disk: Disk, { packages }: Opened): Promise<readonly string[]> {
  const { packages: listed, next } = await packages.list({ limit: 500 });
  const found = listed.filter(({ state }) => state !== "bucket");
  assert.equal(next, null);
  for (const { name, state, manifest, detail } of found) {
    assert.equal(state, "sealed", `${name}: ${detail}`);
    const verification = await packages.verify(name);
    assert.deepEqual(verification, { name, state: "whole", differences: [] });
    const { messages, incomplete } = await packages.read(name);
    assert.deepEqual(incomplete, []);
    assert.equal(messages.length, manifest?.num_messages);
  }
  const left = (await disk.list(path)).map(({ name }) => name);
  const other = left.filter((name) => !/^[\w-]+(\.status\.json|\.tombstone\.json)?$/.test(name));
  assert.deepEqual(other, [], "something half or foreign is left");
  return found.map(({ name }) => name).sort();
}

/** What a moment becomes when nothing goes wrong. */
export async function assertIsWholly({ packages }: Opened, moment: SealedMoment): Promise<void> {
  const { manifest, messages } = await packages.read(moment.record.name);
  const { files: _files, ...record } = manifest;
  assert.deepEqual(record, moment.record);
  assert.deepEqual(messages, moment.messages);
  for (const [index, jpeg] of moment.frames.entries()) {
    assert.deepEqual(
      await partOf(packages, moment.record.name, frameFile(index)),
      Buffer.from(jpeg),
    );
  }
  for (const [sha256, bytes] of moment.attachments ?? []) {
    assert.deepEqual(await partOf(packages, moment.record.name, attachmentFile(sha256)), bytes);
  }
}

export async function partOf(packages: PackageDirectory, name: string, file: string) {
  return (await packages.file(name, file)).bytes;
}

/** Every file of a disk under a directory, with its bytes. */
export async function filesOf(disk: SimulatedDisk, directory = "/"): Promise<Map<string, Buffer>> {
  const files = new Map<string, Buffer>();
  for (const { name, kind } of await disk.list(directory)) {
    const child = join(directory, name);
    if (kind === "directory") {
      for (const [inner, bytes] of await filesOf(disk, child)) files.set(inner, bytes);
      continue;
    }
    const file = await disk.open(child, "read");
    const bytes = Buffer.alloc(await file.size());
    await file.read(bytes, 0);
    await file.close();
    files.set(child, bytes);
  }
  return files;
}

import { createHash } from "node:crypto";
import { mediaTypeOf, partsOf } from "../../../src/moments/package/content.ts";
import { sealRecord, writeManifest } from "../../../src/moments/package/manifest.ts";
import type { SealedMoment } from "../../../src/moments/package/package-sink.ts";
import type { Manifest } from "../../../src/moments/package/record.ts";
import { momentOf } from "../package-workload.ts";

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

/** A package, and the moment that it is made of. */
export function samplePackage(options: SampleOptions = {}): SamplePackage {
  const { number = 0, frames = 1, frameBytes = 700, withAudio = true } = options;
  const { sessionId = "a1b2c3d4" } = options;
  const samples = withAudio ? 200 : 0;
  const record = { session_id: sessionId, chat_id: "c" };
  const moment = momentOf(number, { frames, frameBytes, samples, messages: 0, record });
  const files = new Map<string, Buffer>();
  for (const { path, pieces } of partsOf(moment)) files.set(path, Buffer.concat(pieces));
  const listed = Array.from(files, ([path, body]) => ({
    path,
    bytes: body.length,
    sha256: createHash("sha256").update(body).digest("hex"),
    media_type: mediaTypeOf(path),
  }));
  const manifest = sealRecord(moment.record, listed);
  files.set("feedback.json", writeManifest(manifest));
  return { name: manifest.name, sessionId, manifest, moment, files };
}

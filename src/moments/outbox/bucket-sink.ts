// A moment goes from memory to the bucket: in mode `s3` first of all, in `local+s3` when the disk refuses.
import { createHash } from "node:crypto";
import { mediaTypeOf, partsOf } from "../directory/content.ts";
import {
  type PackageSink,
  type Saved,
  SaveError,
  type SealedMoment,
  sealRecord,
  writeManifest,
} from "../package/package-format.ts";
import { keyPrefix } from "../s3/object-key.ts";
import type { PackageSource } from "../s3/package-source.ts";
import type { Uploader } from "./uploader.ts";

export interface BucketSinkPorts {
  readonly uploader: Pick<Uploader, "fromMemory" | "owed">;
  /** That the uploader sends to. */
  readonly bucket: string;
  /** What it saves is owed by itself. */
  readonly disk: PackageSink;
  /** `bucket`: the disk gets what the bucket does not; `disk`: the other way round. */
  readonly first: "bucket" | "disk";
  /** Milliseconds since 1970. */
  now(): number;
}

/**
 * Saves a moment on the disk or, from memory, in the bucket: there it is durable once its manifest was
 * read back, and not before. The one comes first, the other when that fails; without consent to upload
 * there is the disk alone.
 */
export class BucketSink implements PackageSink {
  readonly #ports: BucketSinkPorts;
  /** When each one that is not saved yet was sealed, in seconds since 1970. */
  readonly #sealed = new Map<string, number>();

  constructor(ports: BucketSinkPorts) {
    this.#ports = ports;
  }

  async save(moment: SealedMoment, signal?: AbortSignal): Promise<Saved> {
    const { disk, now, uploader } = this.#ports;
    const { name, consent } = moment.record;
    if (!consent.upload) return await disk.save(moment, signal);
    const before = moment.isKeyed === true ? await uploader.fromMemory.sentBefore(name) : undefined;
    if (before !== undefined) return { name: before, uploaded: true };
    // One manifest, however often it is tried: when the answer to the last request was lost, what goes
    // to the disk is the very package that the bucket may have.
    const sealedTimestamp = this.#sealed.get(name) ?? Math.round(now()) / 1_000;
    this.#sealed.set(name, sealedTimestamp);
    const saved = await this.#save({ ...moment, sealedTimestamp }, signal);
    this.#sealed.delete(name);
    return saved;
  }

  async #save(moment: Sealed, signal: AbortSignal | undefined): Promise<Saved> {
    const { disk, first } = this.#ports;
    if (first === "bucket") {
      return (await this.#send(moment, signal)) ?? (await disk.save(moment, signal));
    }
    try {
      return await disk.save(moment, signal);
    } catch (error) {
      const isDisk = error instanceof SaveError && error.reason !== "redaction_failed";
      const sent = isDisk ? await this.#send(moment, signal) : undefined;
      if (sent === undefined) throw error;
      return sent;
    }
  }

  /** @returns `undefined`: the bucket does not have it. @throws the reason of the signal. */
  async #send(moment: Sealed, signal: AbortSignal | undefined): Promise<Saved | undefined> {
    const { uploader, bucket } = this.#ports;
    const { name, session_id, consent } = moment.record;
    const sent = await uploader.fromMemory.send(name, session_id, sourceOf(moment), {
      ...(signal === undefined ? {} : { stop: signal }),
      isKeyed: moment.isKeyed === true,
    });
    if (sent.uploaded) return { name, uploaded: true };
    if (signal?.aborted !== true) return undefined;
    this.#sealed.delete(name);
    // Forgotten: some of it may be in the bucket.
    const copy = { bucket, prefix: keyPrefix(session_id, name) };
    await uploader.owed.forgotten({ name, session_id, consent }, [copy]);
    throw signal.reason;
  }
}

type Sealed = SealedMoment & { readonly sealedTimestamp: number };

/** The bytes of a package that is nowhere but in memory. Media is copied a file at a time. */
function sourceOf(moment: Sealed): PackageSource {
  const parts = new Map(partsOf(moment).map((part) => [part.path, part]));
  let manifest: Buffer | undefined;
  const made = () => {
    const files = [...parts.values()].map(({ path, bytes, pieces }) => {
      const hash = createHash("sha256");
      for (const piece of pieces()) hash.update(piece);
      return { path, bytes, sha256: hash.digest("hex"), media_type: mediaTypeOf(path) };
    });
    const seal = { sealed_timestamp: moment.sealedTimestamp, salvaged: false, spilled: false };
    return writeManifest(sealRecord(moment.record, { ...seal, files }));
  };
  return {
    manifest: async () => {
      manifest ??= made();
      return manifest;
    },
    part: async (_name, path) => Buffer.concat([...(parts.get(path)?.pieces() ?? [])]),
  };
}

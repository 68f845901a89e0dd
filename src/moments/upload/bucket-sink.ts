// A moment goes from memory to the bucket: in mode `s3` first of all, in `local+s3` when the disk refuses.
import type { Runtime } from "../../core/runtime.ts";
import type { PackageDirectory } from "../directory/package-directory.ts";
import { bytesIn, manifestFile, type PackagePart, partsOf } from "../package/content.ts";
import { sealRecord, writeManifest } from "../package/manifest.ts";
import { type PackageSink, SaveError, type SealedMoment } from "../package/package-sink.ts";
import { type S3Bucket, withDeadline } from "../s3/s3-bucket.ts";
import type { Outbox } from "./outbox.ts";
import { sendPackage } from "./package-in-bucket.ts";

interface BucketSinkPorts extends Pick<Runtime, "timers"> {
  readonly outbox: Outbox;
  /** What it saves goes up by itself. */
  readonly packages: PackageDirectory;
  /** `bucket`: the disk gets what the bucket does not; `disk`: the other way round. */
  readonly first: "bucket" | "disk";
}

/** A package of 15 MB takes 12 s at 10 Mbit/s. Those behind it wait for so long. */
const sendWithinMs = 30_000;

/**
 * Saves a moment on the disk or, from memory, in the bucket: there it is durable once its manifest was
 * read back and its status says so, and not before. The one comes first, the other when that fails;
 * without consent to upload, then or now, there is the disk alone, and once the outbox is closed too. The bucket is tried once,
 * for at most 30 s, and only when the status that forgetting goes by could be written.
 */
export function bucketSink({ outbox, packages, first, timers }: BucketSinkPorts): PackageSink {
  const send = async (moment: SealedMoment, signal: AbortSignal | undefined) => {
    if (!outbox.mayUpload) return undefined;
    const { name } = moment.record;
    const work = async (bucket: S3Bucket, outer: AbortSignal) => {
      const parts = partsOf(moment);
      const prefix = await packages.sending(moment, bytesIn(parts));
      const read = readerOf(moment, parts);
      await withDeadline(timers, sendWithinMs, outer, (inner) =>
        sendPackage(bucket, prefix, read, inner),
      );
      await packages.sent(name);
      await packages.noteSuperseded(moment.record);
    };
    const failure = await outbox.once(name, work, signal);
    if (signal?.aborted === true) throw signal.reason;
    return failure === undefined ? { name, uploaded: true } : undefined;
  };
  return {
    async save(moment, signal) {
      if (!moment.record.consent.upload) return await packages.save(moment, signal);
      // One manifest, however often it is tried: when the answer to the last request was lost, what goes
      // to the disk is the very package that the bucket may have.
      if (first === "bucket") {
        return (await send(moment, signal)) ?? (await packages.save(moment, signal));
      }
      try {
        return await packages.save(moment, signal);
      } catch (error) {
        const sent = error instanceof SaveError ? await send(moment, signal) : undefined;
        if (sent === undefined) throw error;
        return sent;
      }
    },
  };
}

/** Reads the files of a package that is nowhere but in memory. Media is copied a file at a time. */
function readerOf({ record }: SealedMoment, parts: readonly PackagePart[]) {
  const pieces = new Map(parts.map((part) => [part.path, part.pieces]));
  pieces.set(manifestFile, [writeManifest(sealRecord(record, parts))]);
  return async (path: string) => Buffer.concat(pieces.get(path) ?? []);
}

// What one entry asks for, done.
import type { Clock } from "../../clock.ts";
import { hashOf } from "../s3/local-files.ts";
import { manifestFile, retractionFile } from "../s3/object-key.ts";
import { removePackage } from "../s3/remove-package.ts";
import type { S3Bucket } from "../s3/s3-bucket.ts";
import { uploadPackage } from "../s3/upload-package.ts";
import { UploadStop } from "../s3/upload-stop.ts";
import type { OwedEntry } from "./owed-entry.ts";
import type { LocalPackages, UploadEvent } from "./uploader-ports.ts";

export interface WorkPorts {
  readonly packages: LocalPackages;
  readonly clock: Clock;
}

export interface Progress {
  sentThrough: number;
  /** Writes it down. */
  keep(): Promise<void>;
}

/** Does what an entry asks for. Resolves when nothing of it is owed any more. */
export async function workOff(
  bucket: S3Bucket,
  entry: OwedEntry,
  progress: Progress,
  ports: WorkPorts,
  signal: AbortSignal,
): Promise<UploadEvent> {
  const { name, prefix } = entry;
  switch (entry.kind) {
    case "package":
      await sendPackage(bucket, entry, progress, ports, signal);
      return { type: "uploaded", name, prefix };
    case "retraction": {
      const body = Buffer.from(`${JSON.stringify(entry.retraction, undefined, 2)}\n`);
      const key = prefix + retractionFile;
      const sha256 = hashOf("sha256", body);
      await bucket.put({ key, body, contentType: "application/json", sha256 }, signal);
      return { type: "retracted", name };
    }
    case "delete": {
      const removed = await removePackage(bucket, prefix, entry.paths ?? [], signal);
      return { type: "deleted", name, ...removed };
    }
  }
}

async function sendPackage(
  bucket: S3Bucket,
  entry: OwedEntry,
  progress: Progress,
  { packages, clock }: WorkPorts,
  signal: AbortSignal,
): Promise<void> {
  const { name, prefix, keep_local } = entry;
  if (!(await packages.has(name))) {
    // Perhaps it went up, and was removed here, and the process died before it could say so.
    if ((await bucket.head(prefix + manifestFile, signal)) !== undefined) return;
    throw new UploadStop("local_missing");
  }
  const job = {
    ...{ name, prefix, source: packages, sentThrough: progress.sentThrough },
    onProgress: (sentThrough: number) => {
      progress.sentThrough = sentThrough;
    },
    keepProgress: () => progress.keep(),
  };
  await uploadPackage(bucket, job, { clock }, signal);
  const timestamp = Math.round(clock.now()) / 1_000;
  const copy = { bucket: entry.target.bucket, prefix, timestamp };
  // Whoever deletes the package may hold what these wait for, and waits for us to stop.
  await unlessAborted(packages.uploaded(name, copy), signal);
  if (!keep_local) await unlessAborted(packages.release(name), signal);
}

async function unlessAborted(work: Promise<void>, signal: AbortSignal): Promise<void> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const onAbort = () => reject(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  if (signal.aborted) onAbort();
  try {
    await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}

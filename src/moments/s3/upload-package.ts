// One package into a bucket: what is there already is not sent again, the manifest comes last, and
// "uploaded" is what was read back.
import type { Clock } from "../../core/clock.ts";
import { untilDigestHolds } from "./digest-attempts.ts";
import { type LocalFile, type LocalPackage, readLocalPackage, readPart } from "./local-files.ts";
import { manifestFile } from "./object-key.ts";
import type { S3Bucket } from "./s3-bucket.ts";
import type { ListedObject } from "./s3-port.ts";
import { md5OfEtag } from "./s3-port.ts";
import { compareManifest, sealPackage } from "./seal-package.ts";
import { UploadStop } from "./upload-stop.ts";

/** Where the bytes of one package come from: its folder, or a moment in memory. */
export interface PackageSource {
  /** The bytes of feedback.json. Rejects when there is no such package. */
  manifest(name: string): Promise<Buffer>;
  /** The bytes of one of its files, by the path that the manifest has. */
  part(name: string, path: string): Promise<Buffer>;
}

/** After so long a package lets others go first. */
const packageMs = 10 * 60 * 1_000;

interface UploadJob {
  readonly name: string;
  /** Of every key, with its last slash. */
  readonly prefix: string;
  readonly source: PackageSource;
  /** How many files, in the manifest's order, are there for sure: used where nothing can be listed. */
  readonly sentThrough: number;
  /** Told at every change. */
  onProgress(sentThrough: number): void;
}

/**
 * Uploads a package, or what is missing of it. Resolves when the bucket's manifest was read back and
 * is ours; every file that it lists was seen there before it was written.
 *
 * @throws `S3Error`, `UploadStop`, the signal's reason, or what the source rejects with.
 */
export async function uploadPackage(
  bucket: S3Bucket,
  job: UploadJob,
  ports: { readonly clock: Clock },
  signal: AbortSignal,
): Promise<void> {
  await new PackageUpload(bucket, job, ports.clock, signal).run();
}

class PackageUpload {
  readonly #bucket: S3Bucket;
  readonly #job: UploadJob;
  readonly #clock: Clock;
  readonly #signal: AbortSignal;
  readonly #yieldAt: number;
  /** Paths that are in the bucket, with the ETag that the answer to our own request named. */
  readonly #there = new Map<string, string | undefined>();
  #sentThrough: number;

  constructor(bucket: S3Bucket, job: UploadJob, clock: Clock, signal: AbortSignal) {
    this.#bucket = bucket;
    this.#job = job;
    this.#clock = clock;
    this.#signal = signal;
    this.#yieldAt = clock.monotonic() + packageMs;
    this.#sentThrough = job.sentThrough;
  }

  async run(): Promise<void> {
    const { name, prefix, source } = this.#job;
    const listed = await this.#bucket.list(prefix, this.#signal);
    const local = await readLocalPackage(source, name);
    const sealed = listed?.get(prefix + manifestFile);
    // Whose manifest it is, is asked before anything under its prefix is written.
    if (sealed !== undefined) {
      await compareManifest(this.#bucket, prefix, local.manifestBytes, this.#signal);
    }
    this.#noteThere(local, listed);
    if (sealed !== undefined && this.#sentThrough === local.files.length) return;
    await this.#sendMissing(local);
    await this.#checkAll(local);
    await sealPackage(this.#bucket, prefix, local.manifestBytes, this.#signal);
    this.#bucket.widen();
  }

  #noteThere(local: LocalPackage, listed: ReadonlyMap<string, ListedObject> | undefined): void {
    local.files.forEach((file, index) => {
      const object = listed?.get(this.#job.prefix + file.path);
      const isThere = listed === undefined ? index < this.#sentThrough : isSame(file, object);
      if (isThere) this.#there.set(file.path, undefined);
    });
    this.#count(local);
  }

  /** How many files from the first on are there. */
  #count(local: LocalPackage): void {
    const missing = local.files.findIndex(({ path }) => !this.#there.has(path));
    this.#tell(missing === -1 ? local.files.length : missing);
  }

  #tell(sentThrough: number): void {
    this.#sentThrough = sentThrough;
    this.#job.onProgress(sentThrough);
  }

  /** Several at a time. After a failure none is begun any more; those under way are waited for. */
  async #sendMissing(local: LocalPackage): Promise<void> {
    const missing = local.files.filter(({ path }) => !this.#there.has(path));
    let next = 0;
    let failure: { readonly error: unknown } | undefined;
    const worker = async (index: number) => {
      // A worker ends when fewer are wanted than there were.
      while (failure === undefined && index < this.#bucket.parallel) {
        const file = missing[next++];
        if (file === undefined) return;
        try {
          await this.#send(local, file);
        } catch (error) {
          failure ??= { error };
        }
      }
    };
    await Promise.all(Array.from({ length: this.#bucket.parallel }, (_, index) => worker(index)));
    if (failure !== undefined) throw failure.error;
  }

  async #send(local: LocalPackage, file: LocalFile): Promise<void> {
    if (this.#clock.monotonic() >= this.#yieldAt) throw new UploadStop("yield");
    this.#signal.throwIfAborted();
    const etag = await this.#put(file);
    this.#there.set(file.path, etag);
    this.#count(local);
  }

  async #put(file: LocalFile): Promise<string> {
    const { prefix, name, source } = this.#job;
    const { sha256, mediaType: contentType } = file;
    return await untilDigestHolds(async () => {
      const body = await readPart(source, name, file);
      const object = { key: prefix + file.path, body, contentType, sha256 };
      const { etag, md5 } = await this.#bucket.put(object, this.#signal);
      // Some services take bytes with a wrong SHA-256: what they stored tells its own digest.
      return md5 === undefined || md5 === file.md5 ? etag : undefined;
    });
  }

  /** Every file is seen in the bucket: listed, or asked for unless this run has sent it. */
  async #checkAll(local: LocalPackage): Promise<void> {
    const { prefix } = this.#job;
    const listed = await this.#bucket.list(prefix, this.#signal);
    for (const file of local.files) {
      const etag = this.#there.get(file.path);
      const isThere =
        listed === undefined
          ? etag !== undefined || (await this.#isThere(file))
          : isSame(file, listed.get(prefix + file.path), etag);
      if (!isThere) this.#there.delete(file.path);
    }
    if (this.#there.size === local.files.length) return;
    this.#tell(0);
    throw new UploadStop("incomplete");
  }

  async #isThere(file: LocalFile): Promise<boolean> {
    const head = await this.#bucket.head(this.#job.prefix + file.path, this.#signal);
    if (head?.bytes !== file.bytes) return false;
    if (head.sha256 !== undefined && head.sha256 !== file.sha256) return false;
    return head.md5 === undefined || head.md5 === file.md5;
  }
}

/** Whether a listed object is this file, as far as a listing tells. */
function isSame(file: LocalFile, object: ListedObject | undefined, answered?: string): boolean {
  if (object?.bytes !== file.bytes) return false;
  if (answered !== undefined && object.etag === answered) return true;
  const md5 = md5OfEtag(object.etag);
  return md5 === undefined || md5 === file.md5;
}

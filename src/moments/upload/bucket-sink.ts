// A moment goes from memory to the bucket: in mode `s3` first of all, in `local+s3` when the disk refuses.
import { createHash } from "node:crypto";
import type { Clock } from "../../core/clock.ts";
import type { Timers } from "../../core/timers.ts";
import { mediaTypeOf, partsOf } from "../directory/content.ts";
import type { PackageDirectory } from "../directory/package-directory.ts";
import { secondsNow } from "../directory/ports.ts";
import {
  type PackageSink,
  type Saved,
  SaveError,
  type SealedMoment,
  sealRecord,
  writeManifest,
} from "../package/package-format.ts";
import { DeadlinePassed, withDeadline } from "../s3/deadline.ts";
import { keyPrefix } from "../s3/object-key.ts";
import type { PackageSource } from "../s3/upload-package.ts";
import { uploadPackage } from "../s3/upload-package.ts";
import type { UploadLoop } from "./upload-loop.ts";

interface BucketSinkPorts {
  readonly loop: UploadLoop;
  /** What it saves goes up by itself. */
  readonly packages: PackageDirectory;
  /** That the loop sends to. */
  readonly bucket: string;
  /** `bucket`: the disk gets what the bucket does not; `disk`: the other way round. */
  readonly first: "bucket" | "disk";
  readonly clock: Clock;
  readonly timers: Timers;
}

/** A package of 15 MB takes 12 s at 10 Mbit/s. Those behind it wait for so long. */
const sendWithinMs = 30_000;

/**
 * Saves a moment on the disk or, from memory, in the bucket: there it is durable once its manifest was
 * read back, and not before. The one comes first, the other when that fails; without consent to upload
 * there is the disk alone. The bucket is tried once, for at most 30 s.
 */
export class BucketSink implements PackageSink {
  readonly #ports: BucketSinkPorts;
  /** When each one that is not saved yet was sealed, in seconds since 1970. */
  readonly #sealed = new Map<string, number>();
  /** Something of these may be in the bucket, by name, with the prefix of its keys. */
  readonly #tried = new Map<string, string>();
  readonly #closing = new AbortController();

  constructor(ports: BucketSinkPorts) {
    this.#ports = ports;
  }

  async save(moment: SealedMoment, signal?: AbortSignal): Promise<Saved> {
    const { packages, clock } = this.#ports;
    const { name, consent } = moment.record;
    if (!consent.upload) return await packages.save(moment, signal);
    // One manifest, however often it is tried: when the answer to the last request was lost, what goes
    // to the disk is the very package that the bucket may have.
    const sealedTimestamp = this.#sealed.get(name) ?? secondsNow(clock);
    this.#sealed.set(name, sealedTimestamp);
    const saved = await this.#save({ ...moment, sealedTimestamp }, signal);
    this.#sealed.delete(name);
    this.#tried.delete(name);
    return saved;
  }

  /** From now on everything goes to the disk, what is on its way too. */
  useDisk(): void {
    this.#closing.abort(new DeadlinePassed("the process is ending"));
  }

  /** A moment is forgotten that is not saved: what there is of it in the bucket goes. */
  async forget(name: string): Promise<void> {
    const prefix = this.#tried.get(name);
    this.#tried.delete(name);
    this.#sealed.delete(name);
    if (prefix !== undefined) await this.#ports.packages.bury(name, prefix);
  }

  async #save(moment: Sealed, signal: AbortSignal | undefined): Promise<Saved> {
    const { packages, first } = this.#ports;
    if (first === "bucket") {
      return (await this.#send(moment, signal)) ?? (await packages.save(moment, signal));
    }
    try {
      return await packages.save(moment, signal);
    } catch (error) {
      const isDisk = error instanceof SaveError && error.reason !== "redaction_failed";
      const sent = isDisk ? await this.#send(moment, signal) : undefined;
      if (sent === undefined) throw error;
      return sent;
    }
  }

  /** @returns `undefined`: the bucket does not have it. @throws the reason of the signal. */
  async #send(moment: Sealed, signal: AbortSignal | undefined): Promise<Saved | undefined> {
    if (this.#closing.signal.aborted) return undefined;
    const { loop, bucket, clock, timers, packages } = this.#ports;
    const { name, session_id, chat_id, people } = moment.record;
    const prefix = keyPrefix(session_id, name);
    const job = {
      name,
      prefix,
      source: sourceOf(moment),
      sentThrough: 0,
      onProgress: () => undefined,
    };
    const stop = signal === undefined ? [] : [signal];
    const failure = await loop.once(
      name,
      async (opened, outer) => {
        this.#tried.set(name, prefix);
        await withDeadline(timers, sendWithinMs, outer, (inner) =>
          uploadPackage(opened, job, { clock }, inner),
        );
      },
      AbortSignal.any([...stop, this.#closing.signal]),
    );
    if (signal?.aborted === true) throw signal.reason;
    if (failure !== undefined) return undefined;
    if (moment.isKeyed === true) {
      const of = { chat_id, people, messages: moment.messages.map(({ id }) => id) };
      const copy = { bucket, prefix, timestamp: secondsNow(clock) };
      // A disk that takes nothing keeps no moment from the bucket.
      await packages.remote(name, copy, of).catch(() => undefined);
    }
    return { name, uploaded: true };
  }
}

type Sealed = SealedMoment & { readonly sealedTimestamp: number };

/** The bytes of a package that is nowhere but in memory. Media is copied a file at a time. */
function sourceOf(moment: Sealed): PackageSource {
  const parts = new Map(partsOf(moment).map((part) => [part.path, part]));
  let manifest: Buffer | undefined;
  const made = () => {
    const files = [...parts.values()].map(({ path, bytes, sha256, pieces }) => {
      return { path, bytes, sha256: sha256 ?? digestOf(pieces()), media_type: mediaTypeOf(path) };
    });
    const seal = { sealed_timestamp: moment.sealedTimestamp, files };
    return writeManifest(sealRecord(moment.record, seal));
  };
  return {
    manifest: async () => {
      manifest ??= made();
      return manifest;
    },
    part: async (_name, path) => Buffer.concat([...(parts.get(path)?.pieces() ?? [])]),
  };
}

function digestOf(pieces: Iterable<Uint8Array>): string {
  const hash = createHash("sha256");
  for (const piece of pieces) hash.update(piece);
  return hash.digest("hex");
}

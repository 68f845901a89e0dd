// Moments that are on no disk go up: in mode `s3` all of them, else while the disk refuses.
import type { Clock } from "../../core/clock.ts";
import type { Logger } from "../../core/logger.ts";
import { idOf as packageIdOf } from "../directory/names.ts";
import type { RemoteCopy } from "../package/target.ts";
import { keyPrefix } from "../s3/object-key.ts";
import type { PackageSource } from "../s3/package-source.ts";
import type { S3Bucket } from "../s3/s3-bucket.ts";
import { uploadPackage } from "../s3/upload-package.ts";
import { closedError, errorOf, type Outcome, type OwedError, outcomeOf } from "./outcome.ts";
import type { OwedItem, OwedList } from "./owed-list.ts";
import type { OwedNotes } from "./owed-notes.ts";
import { unlessAborted } from "./owed-work.ts";
import type { LocalPackages } from "./uploader-ports.ts";

/** The answer to a moment that was sent from memory. */
export type SentNow =
  | { readonly uploaded: true; readonly bucket: string; readonly prefix: string }
  | { readonly uploaded: false; readonly error: OwedError };

export interface SendOptions {
  /** Ends it: some of it may be there by then. */
  readonly stop?: AbortSignal;
  /** A note of it stays here, so that a later run knows its id. @default false */
  readonly isKeyed?: boolean;
}

export interface MemoryUploadsPorts {
  readonly notes: OwedNotes;
  readonly list: OwedList;
  readonly packages: Pick<LocalPackages, "remote" | "nameOf">;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly bucket: string;
  /** Why the bucket may not be asked now; `undefined`: it may. */
  refusal(): OwedError | undefined;
  /** One attempt for a package, which a deletion of it ends. */
  attempt(
    name: string,
    work: (bucket: S3Bucket, signal: AbortSignal) => Promise<void>,
    stop: AbortSignal | undefined,
  ): Promise<Outcome | "done" | "stopped">;
  /** Does what an entry asks for, once, if it can be done. */
  workOff(item: OwedItem): Promise<void>;
}

export class MemoryUploads {
  readonly #ports: MemoryUploadsPorts;

  constructor(ports: MemoryUploadsPorts) {
    this.#ports = ports;
  }

  /**
   * Sends a moment that is on no disk. One attempt: whoever calls keeps the moment on the disk when
   * it was not uploaded, and what was sent by then is not sent again. What is noted of it before its
   * first object lets the next process settle what this one could not.
   */
  async send(
    name: string,
    sessionId: string,
    source: PackageSource,
    { stop, isKeyed = false }: SendOptions = {},
  ): Promise<SentNow> {
    const { bucket, clock, notes } = this.#ports;
    const error = this.#ports.refusal();
    if (error !== undefined) return { uploaded: false, error };
    const prefix = keyPrefix(sessionId, name);
    const job = {
      ...{ name, prefix, source, sentThrough: 0 },
      onProgress: () => undefined,
      keepProgress: async () => undefined,
    };
    const work = async (opened: S3Bucket, signal: AbortSignal) => {
      await this.#noting(name, notes.sending(name, sessionId));
      await uploadPackage(opened, job, { clock }, signal);
      await this.#noting(name, this.#sent(name, { bucket, prefix }, isKeyed, signal));
    };
    const outcome = await this.#ports.attempt(name, work, stop);
    if (outcome === "done") return { uploaded: true, bucket, prefix };
    return { uploaded: false, error: outcome === "stopped" ? closedError : errorOf(outcome) };
  }

  /**
   * The package that an earlier run sent under the same id without hearing whether it arrived: asked
   * for now. `undefined`: there is none, it did not arrive, or the bucket is away.
   */
  async sentBefore(name: string): Promise<string | undefined> {
    const { list, packages, refusal, workOff } = this.#ports;
    const id = packageIdOf(name);
    const isUnsettled = (item: OwedItem) => item.kind === "package" || item.kind === "sending";
    for (const item of [...list.values()]) {
      if (!isUnsettled(item) || item.name === name || packageIdOf(item.name) !== id) continue;
      if (refusal() === undefined) await workOff(item);
    }
    const known = packages.nameOf(id);
    return known === name ? undefined : known;
  }

  async #sent(
    name: string,
    copy: RemoteCopy,
    isKeyed: boolean,
    signal: AbortSignal,
  ): Promise<void> {
    const { packages, clock, notes } = this.#ports;
    const timestamp = Math.round(clock.now()) / 1_000;
    if (isKeyed) await unlessAborted(packages.remote(name, { ...copy, timestamp }), signal);
    await notes.sent(name);
  }

  /** Best effort: a disk that takes nothing keeps no moment from the bucket. */
  async #noting(name: string, work: Promise<void>): Promise<void> {
    try {
      await work;
    } catch (error) {
      const fields = { package: name, code: errorOf(outcomeOf(error)).code };
      this.#ports.logger.warn(fields, "what goes to the bucket could not be noted on the disk");
    }
  }
}

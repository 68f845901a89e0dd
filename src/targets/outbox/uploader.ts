import { findWanted, type Wanted } from "../s3/find-packages.ts";
import { keyPrefix } from "../s3/object-key.ts";
import type { PackageSource } from "../s3/package-source.ts";
import { S3Bucket } from "../s3/s3-bucket.ts";
import { uploadPackage } from "../s3/upload-package.ts";
import type { OwedPackages, RemoteCopy } from "../target.ts";
import { backoff, backoffMs } from "./backoff.ts";
import { countOwed } from "./count-owed.ts";
import { loadOwed } from "./load-owed.ts";
import { idOf } from "./outbox.ts";
import { closedError, errorOf, type Outcome, type OwedError, outcomeOf } from "./outcome.ts";
import type { OwedEntry } from "./owed-entry.ts";
import { type OwedItem, OwedList } from "./owed-list.ts";
import { OwedNotes } from "./owed-notes.ts";
import { type Progress, workOff } from "./owed-work.ts";
import { TargetState, type TargetView } from "./target-state.ts";
import type {
  OutboxStatistics,
  UploadEvent,
  UploaderOptions,
  UploaderPorts,
} from "./uploader-ports.ts";

/** The answer to a moment that was sent from memory. */
export type SentNow =
  | { readonly uploaded: true; readonly bucket: string; readonly prefix: string }
  | { readonly uploaded: false; readonly error: OwedError };

type NamedCopy = RemoteCopy & { readonly name: string };

interface Running {
  readonly controller: AbortController;
  readonly done: Promise<unknown>;
}

/** The reason of an upload that was stopped by us. */
class Stopped extends Error {
  override readonly name = "Stopped";
}

/**
 * Sends what is owed, one package at a time, oldest first, for as long as it takes: through outages,
 * refusals and restarts. An entry goes only after its success is written down. One upload never
 * harms another: each failure is its own, but for those that tell of the whole target.
 */
export class Uploader {
  readonly owed: OwedPackages;
  readonly #notes: OwedNotes;
  readonly #ports: UploaderPorts;
  readonly #options: UploaderOptions;
  readonly #list = new OwedList();
  readonly #target: TargetState;
  readonly #buckets = new Map<string, S3Bucket>();
  readonly #listeners = new Set<(event: UploadEvent) => void>();
  readonly #running = new Map<string, Running>();
  #lastError: OwedError | null = null;
  #loop: Promise<void> | undefined;
  #cancelTimer: () => void = () => undefined;
  #isClosed = false;

  constructor(options: UploaderOptions, ports: UploaderPorts) {
    this.#options = options;
    this.#ports = ports;
    this.#target = new TargetState(ports.clock, ports.jitter);
    const { outbox, packages, clock } = ports;
    this.#notes = new OwedNotes({
      ...{ outbox, packages, clock, options, list: this.#list },
      kick: () => this.#kick(),
      stop: (name) => this.#stop(name),
    });
    this.owed = this.#notes;
  }

  /**
   * Takes up what earlier runs left, by name; entries are read 64 at a time while the first of them
   * go up already. Call it when the packages have been recovered: an entry whose package never came
   * to be is dropped. Resolves when the names are known.
   */
  async start(): Promise<void> {
    for (const id of await this.#ports.outbox.list()) {
      const item = this.#list.get(id) ?? this.#list.add(id);
      // Of the recovery that just was: whether its package came to be is looked at.
      if (item.state === "saving") item.state = "unread";
    }
    this.#kick();
  }

  /** How the target is: whether it answers, is away, or refuses. */
  get target(): TargetView {
    return this.#target.view;
  }

  statistics(): OutboxStatistics {
    return countOwed(this.#list.values(), this.#lastError);
  }

  /** Calls back at every event from now on. @returns a function that ends it. */
  onEvent(listener: (event: UploadEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** The network is back: what waits for it goes on now. */
  online(): void {
    this.#target.online();
    this.#hurry();
  }

  /** Somebody asks for uploads: a target that said no is asked again, and parked packages too. */
  async probe(): Promise<void> {
    this.#target.probe();
    for (const bucket of this.#buckets.values()) bucket.forget();
    for (const item of this.#list.values()) {
      if (item.state !== "parked") continue;
      const entry = await this.#ports.outbox.read(item.id);
      if (entry !== undefined) await this.#keep(item, { ...entry, state: "pending" });
    }
    this.#hurry();
  }

  /** Resolves when nothing is due any more: all is sent, or waits, or is parked. */
  async idle(): Promise<void> {
    while (this.#loop !== undefined) await this.#loop;
  }

  /**
   * Sends a moment that is on no disk. One attempt: whoever calls keeps the moment on the disk when
   * it was not uploaded, and what was sent by then is not sent again.
   *
   * @param stop ends it: some of it may be there by then.
   */
  async sendNow(
    name: string,
    sessionId: string,
    source: PackageSource,
    stop?: AbortSignal,
  ): Promise<SentNow> {
    if (!this.#target.isDue || this.#isClosed) {
      const error = this.#target.view.error ?? closedError;
      return { uploaded: false, error };
    }
    const { bucket } = this.#options;
    const prefix = keyPrefix(sessionId, name);
    const job = {
      ...{ name, prefix, source, sentThrough: 0 },
      onProgress: () => undefined,
      keepProgress: async () => undefined,
    };
    const outcome = await this.#alone(name, (own) => {
      const signal = stop === undefined ? own : AbortSignal.any([own, stop]);
      return this.#attempt(signal, async () => {
        await uploadPackage(await this.#open(bucket, signal), job, this.#ports, signal);
      });
    });
    if (outcome === "done") return { uploaded: true, bucket, prefix };
    return { uploaded: false, error: outcome === "stopped" ? closedError : errorOf(outcome) };
  }

  /**
   * Owes the deletion of every package in the bucket that is wanted: for those that are nowhere else.
   *
   * @returns which, and whether all of the bucket was seen: not when it is away, or takes longer
   * than a minute.
   */
  async forgetRemote(
    wanted: Wanted,
  ): Promise<{ readonly copies: readonly NamedCopy[]; readonly isWhole: boolean }> {
    const copies: NamedCopy[] = [];
    if (!this.#target.isDue || this.#isClosed) return { copies, isWhole: false };
    const { bucket } = this.#options;
    const outcome = await this.#alone("", (signal) =>
      this.#attempt(signal, async () => {
        const opened = await this.#open(bucket, signal);
        const isWanted = (name: string) =>
          this.#list.get(idOf("delete", name)) === undefined && wanted.isWanted(name);
        const all = { ...wanted, isWanted };
        for await (const found of findWanted(opened, all, this.#ports.timers, signal)) {
          const { manifest, prefix } = found;
          const { name } = manifest;
          await this.#notes.forgotten(manifest, [{ bucket, prefix }]);
          copies.push({ name, bucket, prefix });
        }
      }),
    );
    return { copies, isWhole: outcome === "done" };
  }

  /** Stops what is being sent, its progress kept, and lets go of everything. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#cancelTimer();
    for (const name of Array.from(this.#running.keys())) await this.#stop(name);
    await this.idle();
    for (const bucket of this.#buckets.values()) bucket.close();
  }

  #kick(): void {
    if (this.#isClosed) return;
    this.#loop ??= this.#run().finally(() => {
      this.#loop = undefined;
      this.#sleep();
    });
  }

  /** What waits after a failure of its own goes on now as well. */
  #hurry(): void {
    for (const item of this.#list.values()) item.dueAt = this.#ports.clock.monotonic();
    this.#kick();
  }

  async #run(): Promise<void> {
    while (!this.#isClosed) {
      await loadOwed(this.#list, {
        ...this.#ports,
        again: (name) => this.#notes.again(name),
      });
      const item = this.#target.isDue ? this.#list.next(this.#ports.clock.monotonic()) : undefined;
      if (item !== undefined) await this.#alone(item.name, (signal) => this.#send(item, signal));
      else if (this.#list.unread(1).length === 0) return;
    }
  }

  /** Until the target may be asked and something is due. */
  #sleep(): void {
    this.#cancelTimer();
    const dueAt = this.#list.dueAt();
    if (dueAt === undefined || this.#isClosed) return;
    const delayMs = Math.max(dueAt, this.#target.dueAt) - this.#ports.clock.monotonic();
    this.#cancelTimer = this.#ports.timers.after(Math.max(delayMs, 1), () => this.#kick());
  }

  async #send(item: OwedItem, signal: AbortSignal): Promise<void> {
    let entry: OwedEntry | undefined;
    try {
      entry = await this.#ports.outbox.read(item.id);
    } catch (error) {
      return this.#again(item, 1, outcomeOf(error));
    }
    if (entry === undefined) return this.#list.delete(item.id);
    const owed = this.#retarget(entry);
    if (owed === undefined) {
      return await this.#park(item, entry, { class: "other_target", code: null, status: null });
    }
    const progress: Progress = {
      sentThrough: owed.sent_through,
      keep: () => this.#keep(item, { ...owed, sent_through: progress.sentThrough }),
    };
    let event: UploadEvent | undefined;
    const outcome = await this.#attempt(signal, async () => {
      const bucket = await this.#open(owed.target.bucket, signal);
      event = await workOff(bucket, owed, progress, this.#ports, signal);
      await this.#ports.outbox.remove(item.id);
    });
    if (outcome === "done") {
      this.#list.delete(item.id);
      if (event !== undefined) this.#tell(event);
      return;
    }
    const left = { ...owed, sent_through: progress.sentThrough };
    if (outcome === "stopped") return await this.#keep(item, left);
    await this.#settle(item, left, outcome);
  }

  /** A package goes to where packages go now; what undoes something goes to where that was done. */
  #retarget(entry: OwedEntry): OwedEntry | undefined {
    const { bucket, region, endpoint = null } = this.#options;
    const { target } = entry;
    const isSame = target.bucket === bucket && target.endpoint === endpoint;
    // Without a region nobody knew where the copy is: where copies go now, as far as that is known.
    const isThere = target.endpoint === endpoint || target.region === null;
    if (entry.kind !== "package") return isThere ? entry : undefined;
    return isSame ? entry : { ...entry, target: { bucket, region, endpoint }, sent_through: 0 };
  }

  async #settle(item: OwedItem, entry: OwedEntry, outcome: Outcome): Promise<void> {
    if (outcome.kind === "park_package") return await this.#park(item, entry, outcome.error);
    const attempts = entry.attempts + (outcome.kind === "yield" ? 0 : 1);
    this.#again(item, attempts, outcome);
    const { clock } = this.#ports;
    // Its own wait, not the target's: the next start asks a target at once, whatever it said.
    const ownMs = Math.max(item.dueAt - clock.monotonic(), 0);
    const next_at = Math.round(clock.now() + ownMs) / 1_000;
    const last_error = outcome.kind === "yield" ? entry.last_error : this.#stamped(outcome.error);
    await this.#keep(item, { ...entry, attempts, next_at, last_error }, item.dueAt);
  }

  /** When it is its turn again. */
  #again(item: OwedItem, attempts: number, outcome: Outcome): void {
    item.error = outcome.kind === "yield" ? item.error : outcome.error;
    const isBehind = outcome.kind === "yield" || (outcome.kind === "retry" && outcome.goesBehind);
    if (isBehind) this.#list.putBehind(item);
    const isOwn = outcome.kind === "retry" && !outcome.isAway;
    // A service that does not answer tells nothing of this package: it is due when the target is.
    const delayMs = isOwn
      ? Math.max(backoffMs(attempts, this.#ports.jitter), outcome.atLeastMs)
      : 0;
    item.dueAt = this.#ports.clock.monotonic() + Math.min(delayMs, backoff.hourMs);
  }

  async #park(item: OwedItem, entry: OwedEntry, error: OwedError): Promise<void> {
    item.error = error;
    this.#lastError = error;
    const attempts = entry.attempts + 1;
    const last_error = this.#stamped(error);
    await this.#keep(item, { ...entry, attempts, state: "parked", last_error });
    item.state = "parked";
    const { name } = item;
    this.#ports.logger.warn({ package: name, ...error }, "a package will not go up by itself");
    this.#tell({ type: "parked", name, error });
  }

  #stamped(error: OwedError): NonNullable<OwedEntry["last_error"]> {
    return { ...error, at: Math.round(this.#ports.clock.now()) / 1_000 };
  }

  /** Writes an entry down; one that was taken away meanwhile stays away. */
  async #keep(item: OwedItem, entry: OwedEntry, dueAt = item.dueAt): Promise<void> {
    if (this.#list.get(item.id) !== item) return;
    item.state = entry.state;
    item.dueAt = dueAt;
    try {
      await this.#ports.outbox.write(item.id, entry);
    } catch (error) {
      // The entry on the disk is an earlier one of the same: nothing that is owed is lost by that.
      const fields = { entry: item.id, code: errorOf(outcomeOf(error)).code };
      this.#ports.logger.warn(fields, "an entry of the outbox could not be written");
    }
  }

  /** Work for a package, which `#stop` can end and wait for. */
  async #alone<T>(name: string, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const controller = new AbortController();
    const running = { controller, done: work(controller.signal) };
    this.#running.set(name, running);
    try {
      return await running.done;
    } finally {
      if (this.#running.get(name) === running) this.#running.delete(name);
    }
  }

  /** One attempt at anything, and what it tells of the target. */
  async #attempt(
    signal: AbortSignal,
    call: () => Promise<void>,
  ): Promise<Outcome | "done" | "stopped"> {
    try {
      await call();
      this.#target.answered();
      this.#lastError = null;
      return "done";
    } catch (error) {
      if (signal.aborted) return "stopped";
      const outcome = outcomeOf(error);
      this.#noteFailure(outcome);
      return outcome;
    }
  }

  #noteFailure(outcome: Outcome): void {
    if (outcome.kind === "yield") return;
    this.#lastError = outcome.error;
    const { logger } = this.#ports;
    if (this.#target.failed(outcome)) {
      logger.error(
        { ...outcome.error },
        "uploads are refused: nothing goes up until this is mended",
      );
      this.#tell({ type: "target_parked", error: outcome.error });
    }
    if (this.#target.view.state !== "ok") {
      for (const bucket of this.#buckets.values()) bucket.forget();
    }
  }

  async #open(name: string, signal: AbortSignal): Promise<S3Bucket> {
    const { createBucket, encryption } = this.#options;
    let bucket = this.#buckets.get(name);
    if (bucket === undefined) {
      const rules = { createBucket, encrypts: encryption !== "none" };
      bucket = new S3Bucket(this.#ports.connect(name), rules);
      this.#buckets.set(name, bucket);
    }
    const found = await bucket.open(signal);
    if (found !== "there") {
      this.#tell({ type: "bucket_made", isClosedToPublic: found === "made" });
    }
    return bucket;
  }

  async #stop(name: string): Promise<void> {
    const running = this.#running.get(name);
    if (running === undefined) return;
    running.controller.abort(new Stopped("the upload was stopped"));
    await running.done.catch(() => undefined); // what it means is told where it was started
  }

  #tell(event: UploadEvent): void {
    for (const listener of this.#listeners) {
      try {
        listener(event);
      } catch (error) {
        const name = error instanceof Error ? error.name : "unknown";
        this.#ports.logger.error({ error: name, event: event.type }, "a listener failed");
      }
    }
  }
}

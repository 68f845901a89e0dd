import type { OwedPackages } from "../package/target.ts";
import { S3Bucket } from "../s3/s3-bucket.ts";
import { backoff, backoffMs } from "./backoff.ts";
import { countOwed } from "./count-owed.ts";
import { loadOwed } from "./load-owed.ts";
import { MemoryUploads } from "./memory-uploads.ts";
import { closedError, errorOf, type Outcome, type OwedError, outcomeOf } from "./outcome.ts";
import type { OwedEntry } from "./owed-entry.ts";
import { type OwedItem, OwedList } from "./owed-list.ts";
import { OwedNotes } from "./owed-notes.ts";
import { type Progress, type WorkPorts, workOff } from "./owed-work.ts";
import { RemotePackages } from "./remote-packages.ts";
import { TargetState, type TargetView } from "./target-state.ts";
import type {
  OutboxStatistics,
  UploadEvent,
  UploaderOptions,
  UploaderPorts,
} from "./uploader-ports.ts";

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
  /** What the bucket alone has. */
  readonly remote: RemotePackages;
  readonly fromMemory: MemoryUploads;
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
    const { timers, logger } = ports;
    const shared = {
      packages,
      clock,
      notes: this.#notes,
      list: this.#list,
      bucket: options.bucket,
    };
    this.remote = new RemotePackages({
      ...{ ...shared, timers, isBusy: (name) => this.#running.has(name) },
      attempt: async (work) =>
        this.#refusal() === undefined && (await this.#once("", work)) === "done",
    });
    this.fromMemory = new MemoryUploads({
      ...{ ...shared, logger, refusal: () => this.#refusal() },
      attempt: (name, work, stop) => this.#once(name, work, stop),
      workOff: (item) => this.#alone(item.name, (signal) => this.#send(item, signal)),
    });
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

  /**
   * Somebody asks for uploads: a target that said no is asked again, and parked packages too, those
   * whose entries are not read yet among them. What is refused once more is parked again.
   */
  async probe(): Promise<void> {
    this.#target.probe();
    this.#list.isAskedFor = true;
    for (const bucket of this.#buckets.values()) bucket.forget();
    for (const item of this.#list.parked()) {
      const entry = await this.#ports.outbox.read(item.id);
      if (entry !== undefined) await this.#keep(item, { ...entry, state: "pending" });
    }
    this.#hurry();
  }

  /** Resolves when nothing is due any more: all is sent, or waits, or is parked. */
  async idle(): Promise<void> {
    while (this.#loop !== undefined) await this.#loop;
  }

  /** A moment is given up that may have been on its way: what there is of it in the bucket goes. */
  abandoned(name: string): Promise<void> {
    return this.#notes.abandoned(name);
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
        again: (item) => this.#notes.again(item),
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
    if (entry === undefined) return await this.#lost(item);
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
      event = await workOff(bucket, owed, progress, this.#work, signal);
      if (owed.kind === "package") await this.#notes.sent(owed.name);
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

  get #work(): WorkPorts {
    const search: WorkPorts["search"] = (bucket, entry, signal) =>
      this.remote.search(bucket, entry, signal);
    return { ...this.#ports, search };
  }

  /** There is no entry, or one that cannot be read: what that owed is owed again. */
  async #lost(item: OwedItem): Promise<void> {
    if (!this.#ports.outbox.wasSetAside(item.id)) return this.#list.delete(item.id);
    try {
      await this.#notes.again(item);
    } catch (error) {
      this.#again(item, 1, outcomeOf(error));
    }
  }

  /** A package goes to where packages go now; what undoes something goes to where that was done. */
  #retarget(entry: OwedEntry): OwedEntry | undefined {
    const { bucket, region, endpoint = null } = this.#options;
    const { target } = entry;
    const isSame = target.bucket === bucket && target.endpoint === endpoint;
    // Without a region nobody knew where the copy is: where copies go now, as far as that is known.
    const isThere = target.endpoint === endpoint || target.region === null;
    const here = { bucket, region, endpoint };
    if (entry.kind !== "package" && target.bucket === "") return { ...entry, target: here };
    if (entry.kind !== "package") return isThere ? entry : undefined;
    return isSame ? entry : { ...entry, target: here, sent_through: 0 };
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

  /** Why the target may not be asked now. */
  #refusal(): OwedError | undefined {
    const isAsked = this.#target.isDue && !this.#isClosed;
    return isAsked ? undefined : (this.#target.view.error ?? closedError);
  }

  /** One attempt at something with the bucket, which `#stop` can end by its name. */
  #once(
    name: string,
    work: (bucket: S3Bucket, signal: AbortSignal) => Promise<void>,
    stop?: AbortSignal,
  ): Promise<Outcome | "done" | "stopped"> {
    return this.#alone(name, (own) => {
      const signal = stop === undefined ? own : AbortSignal.any([own, stop]);
      return this.#attempt(signal, async () => {
        await work(await this.#open(this.#options.bucket, signal), signal);
      });
    });
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

import { type Clock, isoTime } from "../../core/clock.ts";
import type { Logger } from "../../core/logger.ts";
import type { Telemetry } from "../../core/telemetry.ts";
import type { Timers } from "../../core/timers.ts";
import type { PackageDirectory } from "../directory/package-directory.ts";
import type { Sender } from "../directory/ports.ts";
import type { UploadError, UploadTarget } from "../package/package-format.ts";
import { S3Bucket } from "../s3/s3-bucket.ts";
import type { S3Port } from "../s3/s3-port.ts";
import { type AttemptError, closedError, errorOf, type Outcome, outcomeOf } from "./outcome.ts";
import { type PendingItem, PendingList } from "./pending-list.ts";
import { backoff, backoffMs, type Jitter, TargetState, type TargetView } from "./target-state.ts";
import { finishTombstone, sendPackage, type UploadEvent, type WorkPorts } from "./upload-work.ts";

interface UploadLoopOptions {
  readonly target: UploadTarget;
  readonly createBucket: boolean;
  readonly encryption: "AES256" | "none";
}

interface UploadLoopPorts {
  readonly packages: PackageDirectory;
  /** Makes the port to a bucket of the configured service. Called at the first upload, not before. */
  connect(bucket: string): S3Port;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly jitter: Jitter;
  readonly logger: Logger;
  readonly telemetry: Telemetry;
}

export interface OutboxStatistics {
  /** What is to be sent and will be tried. */
  readonly pending: number;
  /** What failed and will not be tried by itself. */
  readonly parked: number;
  readonly bytes: number;
  /** ISO 8601; `null` when nothing is to be sent. */
  readonly oldest_at: string | null;
  readonly last_error: UploadError | null;
}

/** How many statuses are read at once. */
const readsAtOnce = 64;

/** The reason of an upload that was stopped by us. */
class Stopped extends Error {
  override readonly name = "Stopped";
}

interface Running {
  readonly controller: AbortController;
  readonly done: Promise<unknown>;
}

/**
 * Sends what the statuses and tombstones of a directory ask for, one at a time, oldest first, for as long
 * as it takes: through outages, refusals and restarts. What it needs to know is in those files; a
 * success is written there before it is told. One upload never harms another: each failure is its own,
 * but for those that tell of the whole target.
 */
export class UploadLoop implements Sender {
  readonly #ports: UploadLoopPorts;
  readonly #options: UploadLoopOptions;
  readonly #list = new PendingList();
  readonly #target: TargetState;
  readonly #buckets = new Map<string, S3Bucket>();
  readonly #listeners = new Set<(event: UploadEvent) => void>();
  readonly #running = new Map<string, Running>();
  #lastError: UploadError | null = null;
  #loop: Promise<void> | undefined;
  #cancelTimer: () => void = () => undefined;
  /** Somebody asked for uploads in this run: what failed is tried again, also what is read later. */
  #isAskedFor = false;
  #isClosed = false;

  constructor(options: UploadLoopOptions, ports: UploadLoopPorts) {
    this.#options = options;
    this.#ports = ports;
    this.#target = new TargetState(ports.clock, ports.jitter);
    ports.packages.connect(this);
  }

  /**
   * Takes up what earlier runs left, by name; it is read 64 at a time while the first of it goes up
   * already. Resolves when the names are known.
   */
  async start(): Promise<void> {
    for (const { name, as } of await this.#ports.packages.noted()) {
      if (as === "status" || as === "tombstone") this.#list.add(name, as);
    }
    this.#kick();
  }

  /** How the target is: whether it answers, is away, or refuses. */
  get target(): TargetView {
    return this.#target.view;
  }

  /** Whether all that earlier runs left is known. */
  get isRead(): boolean {
    return this.#list.unread(1).length === 0;
  }

  statistics(): OutboxStatistics {
    const items = this.#list.values().filter(({ state }) => state !== "unread");
    const failed = items.filter(({ state }) => state === "failed");
    const since = Math.min(...items.map((item) => item.since));
    return {
      pending: items.length - failed.length,
      parked: failed.length,
      bytes: items.reduce((sum, { bytes }) => sum + bytes, 0),
      oldest_at: Number.isFinite(since) ? isoTime(since * 1_000) : null,
      last_error: this.#lastError ?? failed.at(-1)?.error ?? null,
    };
  }

  /** Calls back at every event from now on. @returns a function that ends it. */
  onEvent(listener: (event: UploadEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  pending(
    name: string,
    as: PendingItem["as"],
    { since, bytes = 0 }: { readonly since: number; readonly bytes?: number },
  ): void {
    const item = this.#list.add(name, as);
    item.asked++;
    item.state = "pending";
    item.since = since;
    item.bytes = bytes;
    item.dueAt = this.#ports.clock.monotonic();
    this.#kick();
  }

  async hold(name: string): Promise<(isGone: boolean) => void> {
    const item = this.#list.get(name, "status");
    if (item !== undefined) item.isHeld = true;
    await this.#stop(name);
    return (isGone) => {
      if (item === undefined) return;
      item.isHeld = false;
      if (isGone) this.#list.delete(item);
      this.#kick();
    };
  }

  /** The network is back: what waits for it is sent now. */
  online(): void {
    this.#target.online();
    this.#hurry();
  }

  /**
   * Somebody asks for uploads: a target that said no is asked again, and what failed is tried again, also
   * what is not read yet.
   */
  async probe(): Promise<void> {
    this.#target.probe();
    this.#isAskedFor = true;
    for (const bucket of this.#buckets.values()) bucket.forget();
    for (const item of this.#list.values()) if (item.state === "failed") item.state = "unread";
    this.#hurry();
  }

  /** Resolves when nothing is due any more: all is sent, or waits, or failed. */
  async idle(): Promise<void> {
    while (this.#loop !== undefined) await this.#loop;
  }

  /**
   * One attempt at anything with the configured bucket, that a deletion of `name` ends.
   *
   * @returns why it was not done.
   */
  async once(
    name: string,
    work: (bucket: S3Bucket, signal: AbortSignal) => Promise<void>,
    stop?: AbortSignal,
  ): Promise<AttemptError | undefined> {
    if (!this.#target.isDue || this.#isClosed) return this.#target.view.error ?? closedError;
    const outcome = await this.#alone(name, (own) => {
      const signal = stop === undefined ? own : AbortSignal.any([own, stop]);
      const { bucket } = this.#options.target;
      return this.#attempt(signal, async () => work(await this.#open(bucket, signal), signal));
    });
    if (outcome === "done") return undefined;
    return outcome === "stopped" ? closedError : errorOf(outcome);
  }

  /** Stops what is being sent, and lets go of everything. */
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

  /** What waits after a failure of its own is tried now as well. */
  #hurry(): void {
    for (const item of this.#list.values()) item.dueAt = this.#ports.clock.monotonic();
    this.#kick();
  }

  async #run(): Promise<void> {
    while (!this.#isClosed) {
      await Promise.all(this.#list.unread(readsAtOnce).map((item) => this.#read(item)));
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

  /** What is to be done about it, if anything. */
  async #read(item: PendingItem): Promise<void> {
    const { packages, logger } = this.#ports;
    const { name, as, asked: before } = item;
    try {
      const status = as === "status" ? (await packages.status(name))?.upload : undefined;
      const asked = as === "status" ? status : await packages.tombstone(name);
      if (item.asked !== before) return; // the status that was read is an older one
      if (asked === undefined || asked.state === "done") {
        this.#list.delete(item);
        return;
      }
      item.since = asked.since;
      item.bytes = status?.bytes ?? 0;
      item.error = asked.error;
      item.state = this.#isAskedFor ? "pending" : asked.state;
    } catch (error) {
      // It is to be sent all the same: the attempt reads it again.
      item.state = "pending";
      const code = (error as { readonly code?: unknown }).code;
      logger.warn({ package: name, code }, "what is to be sent of a package could not be read");
    }
  }

  async #send(item: PendingItem, signal: AbortSignal): Promise<void> {
    const { packages } = this.#ports;
    const { name } = item;
    let events: readonly UploadEvent[] = [];
    const outcome = await this.#attempt(signal, async () => {
      if (item.as === "tombstone") {
        const tombstone = await packages.tombstone(name);
        if (tombstone === undefined) return;
        events = await finishTombstone(name, tombstone, this.#work, signal);
      } else {
        const status = await packages.status(name);
        if (status === undefined || status.upload === undefined) return;
        events = await sendPackage(name, status, item, this.#work, signal);
      }
    });
    if (outcome === "done") {
      item.attempts = 0;
      await this.#read(item); // by now there may be more to be sent
      for (const event of events) this.#tell(event);
    } else if (outcome !== "stopped") await this.#settle(item, outcome);
  }

  get #work(): WorkPorts {
    const { packages, clock } = this.#ports;
    const { target } = this.#options;
    return { packages, clock, target, open: (bucket, signal) => this.#open(bucket, signal) };
  }

  async #settle(item: PendingItem, outcome: Outcome): Promise<void> {
    const before = item.error;
    if (outcome.kind === "failed") {
      const { name } = item;
      const { error } = outcome;
      item.state = "failed";
      item.error = error;
      this.#lastError = error;
      await this.#note(item, "failed", error);
      this.#ports.logger.warn({ package: name, ...error }, "a package will not go up by itself");
      this.#tell({ type: "failed", name, error });
      return;
    }
    if (outcome.kind !== "yield") {
      item.attempts++;
      item.error = outcome.error;
    }
    const isBehind = outcome.kind === "yield" || (outcome.kind === "retry" && outcome.goesBehind);
    if (isBehind) this.#list.putBehind(item);
    // A service that does not answer tells nothing of this package: it is due when the target is.
    const isOwn = outcome.kind === "retry" && !outcome.isAway;
    const delayMs = isOwn
      ? Math.max(backoffMs(item.attempts, this.#ports.jitter), outcome.atLeastMs)
      : 0;
    item.dueAt = this.#ports.clock.monotonic() + Math.min(delayMs, backoff.hourMs);
    const isNew = item.error?.class !== before?.class || item.error?.code !== before?.code;
    if (isNew || this.#isAskedFor) await this.#note(item, "pending", item.error);
  }

  /** Writes a failure down. One that cannot be written is the same again in the next run. */
  async #note(
    { name, as }: PendingItem,
    state: "pending" | "failed",
    error: UploadError | null,
  ): Promise<void> {
    const { packages, logger } = this.#ports;
    try {
      if (as === "status") {
        await packages.noteUpload(name, (note) => ({ ...note, state, error }));
        return;
      }
      const tombstone = await packages.tombstone(name);
      if (tombstone !== undefined)
        await packages.keepTombstone(name, { ...tombstone, state, error });
    } catch (failure) {
      const { code } = errorOf(outcomeOf(failure));
      logger.warn({ package: name, code }, "why a package was not sent could not be noted");
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
    const span = this.#ports.telemetry.begin({ type: "upload" });
    try {
      await span.run(call);
      span.end();
      this.#target.answered();
      this.#lastError = null;
      return "done";
    } catch (error) {
      const outcome = outcomeOf(error);
      const { class: kind, code } = errorOf(outcome);
      const isOver = signal.aborted || outcome.kind === "yield";
      span.end(isOver ? undefined : (code ?? kind));
      if (signal.aborted) return "stopped";
      this.#noteFailure(outcome);
      return outcome;
    }
  }

  #noteFailure(outcome: Outcome): void {
    if (outcome.kind === "yield") return;
    this.#lastError = outcome.error;
    if (this.#target.failed(outcome)) {
      const { error } = outcome;
      const says =
        refusals[error.class] ?? "uploads are refused: nothing goes up until that is mended";
      this.#ports.logger.error({ ...error }, says);
      this.#tell({ type: "target_refused", error });
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

/** What a person can mend, in words. */
const refusals: Readonly<Partial<Record<AttemptError["class"], string>>> = {
  no_client: "packages stay on this machine until: npm install @aws-sdk/client-s3",
  no_credentials: "packages stay on this machine until there are credentials for the bucket",
};

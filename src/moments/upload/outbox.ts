import { concurrently } from "../../core/concurrently.ts";
import type { Runtime } from "../../core/runtime.ts";
import type { Sender } from "../directory/names.ts";
import { isInFlight } from "../directory/notes.ts";
import type { Asked, PackageDirectory } from "../directory/package-directory.ts";
import type { PackageStatus, Tombstone, UploadError, UploadTarget } from "../package/record.ts";
import type { S3Bucket } from "../s3/s3-bucket.ts";
import { failureOf, refusals, UploadFailure, waitMs } from "../s3/upload-failure.ts";
import { hasArrived, removePackage, sendPackage, sendRetraction } from "./package-in-bucket.ts";

interface OutboxPorts extends Pick<Runtime, "clock" | "timers" | "telemetry" | "logger"> {
  readonly packages: PackageDirectory;
  /** That packages go to now. */
  readonly target: UploadTarget;
  /** Makes a bucket of the configured service. Called at the first upload, not before. */
  connect(bucket: string): S3Bucket;
  /**
   * A random number from 0 up to, and without, 1: a seed can replay a run.
   * @default the machine's
   */
  readonly jitter?: (() => number) | undefined;
}

export interface OutboxStatistics {
  /** What is to be sent and will be tried. */
  readonly pending: number;
  /** What is not tried by itself any more. */
  readonly dead: number;
  readonly last_error: UploadError | null;
}

/** How many statuses are read at once: 10,000 took 2.1 s one by one, and 0.8 s so. */
const readsAtOnce = 16;

/** What is to be sent of a package, as its tombstone or else its status asks for it. Some 200 bytes: 10,000 take 2 MB. */
interface Item {
  readonly name: string;
  state: "pending" | "dead";
  /** If no bucket has the package, none gets it: see `allow`. */
  isWithheld: boolean;
  error: UploadError | null;
  /** On the monotonic clock. */
  dueAt: number;
  /** How often the service answered and it failed: those that failed go behind the others. */
  attempts: number;
}

/** Nothing was tried: this process is ending, or something else came first. */
const stopped = new UploadFailure("retry", { code: "Stopped" });

/**
 * Sends what the statuses and tombstones of a directory ask for, one at a time, oldest first, for as long
 * as it takes: through outages, refusals and restarts. What it needs to know is in those files; a
 * success is written there before it is told. One upload never harms another: each failure is its own,
 * but for those of the whole target.
 */
export class Outbox implements Sender {
  readonly #ports: OutboxPorts;
  readonly #items = new Map<string, Item>();
  readonly #buckets = new Map<string, S3Bucket>();
  #uploaded: (name: string) => void = () => undefined;
  readonly #running = new Map<string, { stop(): void; readonly done: Promise<unknown> }>();
  /** Why the target is not asked before `dueAt`, on the monotonic clock. */
  #target = { error: null as UploadFailure | null, failures: 0, dueAt: Number.NEGATIVE_INFINITY };
  /** How the last attempt failed, at whatever it was. */
  #lastError: UploadFailure | null = null;
  /** Until all that earlier runs left is known. */
  #reading: Promise<void> | undefined;
  #loop: Promise<void> | undefined;
  #cancelTimer: () => void = () => undefined;
  #mayUpload = true;
  #isClosed = false;

  constructor(ports: OutboxPorts) {
    this.#ports = ports;
    ports.packages.connect(this);
  }

  /**
   * Takes up what earlier runs left. Resolves when its names are known; what each asks for is read in
   * the background, before anything is sent.
   */
  async start(): Promise<void> {
    const names = await this.#ports.packages.noted();
    const isWithheld = !this.#mayUpload;
    const read = (name: string) => this.#read(name, isWithheld);
    this.#reading = concurrently(names, readsAtOnce, read).finally(() => {
      this.#reading = undefined;
      this.#kick();
    });
    this.#kick();
  }

  /** Whether somebody agrees to uploads now. */
  get mayUpload(): boolean {
    return this.#mayUpload;
  }

  /**
   * Says whether somebody agrees to uploads from now on. If not, no package goes up that no bucket has, and what is
   * under way is stopped; what waits stays here, after a later yes too, until somebody asks for uploads. Retractions
   * and deletions are sent. Resolves when that is noted.
   */
  async allow(mayUpload: boolean): Promise<void> {
    this.#mayUpload = mayUpload;
    if (mayUpload) return;
    for (const item of this.#items.values()) item.isWithheld = true;
    // A deletion or a retraction is begun again. A search of the bucket has no name.
    for (const [name, running] of this.#running) if (name !== "") running.stop();
    await this.#reading;
    await this.#withhold();
  }

  /** Why everything waits: the last answer of a target that is away or says no. */
  get targetError(): UploadFailure | null {
    return this.#target.error;
  }

  get isRead(): boolean {
    return this.#reading === undefined;
  }

  statistics(): OutboxStatistics {
    const items = [...this.#items.values()];
    const dead = items.filter(({ state }) => state === "dead").length;
    return {
      pending: items.length - dead,
      dead,
      last_error:
        this.#lastError?.note ?? items.findLast((item) => item.error !== null)?.error ?? null,
    };
  }

  /** Calls back with the name of each package that was uploaded. */
  onUploaded(listener: (name: string) => void): void {
    this.#uploaded = listener;
  }

  pending(name: string): void {
    // In place of what is known of it, which may be under way with what its file said before.
    this.#add({ name, state: "pending", error: null });
    this.#kick();
  }

  async stop(name: string): Promise<void> {
    this.#items.delete(name);
    const running = this.#running.get(name);
    running?.stop();
    await running?.done;
  }

  /** Somebody asks for uploads: everything is tried now, also what is dead. */
  async probe(): Promise<void> {
    await this.#reading;
    const dueAt = this.#ports.clock.monotonic();
    this.#target = { ...this.#target, failures: 0, dueAt };
    for (const item of this.#items.values()) {
      item.dueAt = dueAt;
      item.state = "pending";
      item.isWithheld = !this.#mayUpload;
    }
    this.#kick();
  }

  /** Resolves when nothing is due any more: all is sent, or waits, or is dead. */
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
  ): Promise<UploadFailure | undefined> {
    if (!this.#isTargetDue || this.#isClosed) return this.#target.error ?? stopped;
    const bucket = this.#bucket(this.#ports.target.bucket);
    return this.#attempt(name, (signal) => work(bucket, signal), stop);
  }

  /** Stops what is being sent, and lets go of everything. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#cancelTimer();
    for (const name of Array.from(this.#running.keys())) await this.stop(name);
    await this.idle();
    for (const bucket of this.#buckets.values()) bucket.close();
  }

  get #isTargetDue(): boolean {
    return this.#ports.clock.monotonic() >= this.#target.dueAt;
  }

  #add(item: Omit<Item, "dueAt" | "attempts" | "isWithheld">, isWithheld = false): void {
    const dueAt = this.#ports.clock.monotonic();
    const mayWait = isWithheld || !this.#mayUpload;
    this.#items.set(item.name, { ...item, dueAt, attempts: 0, isWithheld: mayWait });
  }

  /** Notes of what is withheld that it is, also while the bucket is away: a later run goes by that. */
  async #withhold(): Promise<void> {
    const items = [...this.#items.values()];
    const held = items.filter(({ isWithheld, state }) => isWithheld && state === "pending");
    await concurrently(held, readsAtOnce, async (item) => {
      const status = await this.#unsent(item.name).catch(() => undefined); // its attempt reads it again
      if (status !== undefined) await this.#settle(item, new UploadFailure("no_consent"), status);
    });
  }

  /** The status of a package that is here, and in no bucket. */
  async #unsent(name: string): Promise<PackageStatus | undefined> {
    const { packages } = this.#ports;
    const asked = await packages.asked(name);
    const isUnsent = asked && "uploaded" in asked && asked.uploaded.length === 0;
    return isUnsent && (await packages.has(name)) ? asked : undefined;
  }

  /** The one whose turn it is, of those that are due. */
  #next(): Item | undefined {
    const now = this.#ports.clock.monotonic();
    let first: Item | undefined;
    for (const item of this.#items.values()) {
      const isDue = item.state === "pending" && item.dueAt <= now;
      if (isDue && (first === undefined || isBefore(item, first))) first = item;
    }
    return first;
  }

  #kick(): void {
    if (this.#isClosed) return;
    this.#loop ??= this.#run().finally(() => {
      this.#loop = undefined;
      this.#sleep();
    });
  }

  async #run(): Promise<void> {
    await this.#reading;
    await this.#withhold();
    while (!this.#isClosed && this.#isTargetDue) {
      const item = this.#next();
      if (item === undefined) return;
      await this.#send(item);
    }
  }

  /** Until the target may be asked and something is due. */
  #sleep(): void {
    const { clock, timers } = this.#ports;
    this.#cancelTimer();
    let dueAt = Number.POSITIVE_INFINITY;
    for (const item of this.#items.values()) {
      if (item.state === "pending") dueAt = Math.min(dueAt, item.dueAt);
    }
    if (!Number.isFinite(dueAt) || this.#isClosed) return;
    const delayMs = Math.max(dueAt, this.#target.dueAt) - clock.monotonic();
    this.#cancelTimer = timers.after(Math.max(delayMs, 1), () => this.#kick());
  }

  /** Reads what an earlier run left to be done about a package. */
  async #read(name: string, isWithheld: boolean): Promise<void> {
    if (this.#isClosed) return;
    const { logger, packages } = this.#ports;
    let note: Pick<Tombstone, "state" | "error"> | PackageStatus["upload"];
    try {
      const asked = await packages.asked(name);
      note = asked && "places" in asked ? asked : asked?.upload;
    } catch (thrown) {
      // It is to be sent all the same: the attempt reads it again.
      const { code } = failureOf(thrown);
      logger.warn({ package: name, code }, "what is to be sent of a package could not be read");
      note = { state: "pending", error: null };
    }
    if (note === undefined || note.state === "done") return;
    if (this.#isClosed || this.#items.has(name)) return; // asked for since
    const state = note.state === "dead" ? "dead" : "pending";
    this.#add({ name, state, error: note.error }, isWithheld);
  }

  async #send(item: Item): Promise<void> {
    const { name } = item;
    const { packages } = this.#ports;
    let asked: Asked | undefined;
    let isUploaded = false;
    const failure = await this.#attempt(name, async (signal) => {
      asked = await packages.asked(name);
      if (asked === undefined) return;
      if ("places" in asked) return this.#delete(name, asked, signal);
      isUploaded = await this.#agree(item, asked, signal);
    });
    if (failure === stopped) return;
    if (failure !== undefined) return this.#settle(item, failure, asked);
    // What was asked for since is another item.
    if (this.#items.get(name) === item) this.#items.delete(name);
    if (isUploaded) this.#uploaded(name);
  }

  /**
   * Makes the bucket agree with a status: the package is there, and its retraction beside it. Resolves
   * when that is noted.
   *
   * @returns whether the package was uploaded now.
   */
  async #agree(item: Item, status: PackageStatus, signal: AbortSignal): Promise<boolean> {
    const { name, isWithheld } = item;
    const { upload, uploaded, retracted } = status;
    if (upload === undefined) return false;
    const { packages, target } = this.#ports;
    const { prefix } = upload;
    const isNew = uploaded.length === 0;
    const isHere = await packages.has(name);
    const isFromMemory = isInFlight(status) && !isHere;
    const isBound = !isNew || isFromMemory;
    if (isBound && upload.target.endpoint !== target.endpoint)
      throw new UploadFailure("other_target");
    const { bucket } = isFromMemory ? upload.target : target;
    const at = this.#bucket(bucket);
    if (isFromMemory) {
      // The process that sent it died.
      if (!(await hasArrived(at, prefix, signal))) {
        await removePackage(at, prefix, signal);
        await packages.buried(name, []);
        return false;
      }
    } else if (isNew) {
      if (isWithheld) throw new UploadFailure("no_consent");
      if (!isHere) throw new UploadFailure("local_missing");
      const read = (path: string) => packages.part(name, path);
      await sendPackage(at, prefix, read, signal);
    }
    if (retracted !== null) {
      for (const copy of isNew ? [{ bucket, prefix }] : uploaded) {
        await sendRetraction(this.#bucket(copy.bucket), copy.prefix, retracted, signal);
      }
    }
    await packages.sent(name, retracted);
    if (!upload.keep_local) await packages.release(name);
    return isNew;
  }

  /** Removes what a tombstone is of: what is still here, then from the bucket, and the tombstone last. */
  async #delete(name: string, { places }: Tombstone, signal: AbortSignal): Promise<void> {
    const { packages, logger, target } = this.#ports;
    await packages.finishDeletion(name);
    if (places.length === 0) throw new UploadFailure("local_damage"); // where it may be is not known
    for (const { target: place, prefix } of places) {
      if (place.endpoint !== target.endpoint) throw new UploadFailure("other_target");
      if (!(await removePackage(this.#bucket(place.bucket), prefix, signal))) continue;
      const says = "the bucket keeps older versions: delete those there yourself";
      logger.warn({ package: name }, says);
    }
    await packages.buried(name, places);
  }

  /** Notes a failure, in its file too if it is another than before, and when it is tried again. */
  async #settle(item: Item, failure: UploadFailure, asked: Asked | undefined): Promise<void> {
    const { clock, logger, packages } = this.#ports;
    const { name, error: before } = item;
    const error = failure.note;
    item.error = error;
    if (failure.waits === "dead") {
      item.state = "dead";
      logger.warn({ package: name, ...error }, "a package will not go up by itself");
    } else {
      if (error.status !== null || failure.waits === "package") item.attempts++;
      // A service that does not answer tells nothing of this package: it is due when the target is.
      item.dueAt = clock.monotonic();
      if (failure.waits === "package") item.dueAt += waitMs(item.attempts, this.#ports.jitter);
    }
    const isNew = error.class !== before?.class || error.code !== before?.code;
    if (isNew && item.state === "pending") {
      const says = "a package was not sent to the bucket, or not deleted there: it is tried again";
      logger.warn({ package: name, ...error }, says);
    }
    if (!isNew || asked === undefined) return;
    try {
      await packages.failed(name, asked, {
        state: item.state === "dead" ? "dead" : "failed",
        error,
      });
    } catch (thrown) {
      item.error = before; // noted at the next try
      const { code } = failureOf(thrown);
      logger.warn({ package: name, code }, "why a package was not sent could not be noted");
    }
  }

  /** One attempt at anything, which `#stop` can end and wait for, and what it tells of the target. */
  async #attempt(
    name: string,
    work: (signal: AbortSignal) => Promise<void>,
    outer?: AbortSignal,
  ): Promise<UploadFailure | undefined> {
    const own = new AbortController();
    const signal = outer === undefined ? own.signal : AbortSignal.any([own.signal, outer]);
    const span = this.#ports.telemetry.begin({ type: "upload" });
    const ended = (failure: UploadFailure | undefined) => {
      const isStopped = failure !== undefined && signal.aborted;
      span.end(isStopped ? undefined : (failure?.code ?? failure?.class));
      if (isStopped) return stopped;
      this.#lastError = failure ?? null;
      if (failure === undefined) this.#target = { error: null, failures: 0, dueAt: 0 };
      else if (failure.waits === "target") this.#targetFailed(failure);
      return failure;
    };
    const done = span
      .run(() => work(signal))
      .then(
        () => ended(undefined),
        (thrown) => ended(failureOf(thrown)),
      );
    const running = { stop: () => own.abort(new Error("the upload was stopped")), done };
    this.#running.set(name, running);
    try {
      return await done;
    } finally {
      if (this.#running.get(name) === running) this.#running.delete(name);
    }
  }

  #targetFailed(error: UploadFailure): void {
    const failures = this.#target.failures + 1;
    const isNew = error.class !== this.#target.error?.class;
    this.#target = {
      error,
      failures,
      dueAt: this.#ports.clock.monotonic() + waitMs(failures, this.#ports.jitter),
    };
    if (error.class === "retry" || !isNew) return;
    const mended: Partial<Record<UploadFailure["class"], string>> = refusals;
    const says = mended[error.class] ?? "uploads are refused: nothing goes up until that is mended";
    this.#ports.logger.error({ ...error.note, region: error.region }, says);
  }

  #bucket(name: string): S3Bucket {
    const bucket = this.#buckets.get(name) ?? this.#ports.connect(name);
    this.#buckets.set(name, bucket);
    return bucket;
  }
}

function isBefore(left: Item, right: Item): boolean {
  return left.attempts === right.attempts ? left.name < right.name : left.attempts < right.attempts;
}

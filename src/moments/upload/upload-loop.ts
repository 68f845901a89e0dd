import { isoTime } from "../../core/clock.ts";
import type { Runtime } from "../../core/runtime.ts";
import type { Sender } from "../directory/ports.ts";
import type { UploadError } from "../package/record.ts";
import type { S3Bucket } from "../s3/s3-bucket.ts";
import {
  type AttemptError,
  backoffMs,
  type Failure,
  failureOf,
  type Jitter,
  stoppedError,
} from "./attempt.ts";
import { finishTombstone, sendPackage, type WorkPorts } from "./upload-work.ts";

interface UploadLoopPorts
  extends Omit<WorkPorts, "bucket">,
    Pick<Runtime, "clock" | "timers" | "telemetry"> {
  /** Makes a bucket of the configured service. Called at the first upload, not before. */
  connect(bucket: string): S3Bucket;
  readonly jitter: Jitter;
}

export interface OutboxStatistics {
  /** What is to be sent and will be tried. */
  readonly pending: number;
  /** What is not tried by itself any more. */
  readonly dead: number;
  readonly bytes: number;
  /** ISO 8601; `null` when nothing is to be sent. */
  readonly oldest_at: string | null;
  readonly last_error: UploadError | null;
}

/** How many statuses are read at once. */
const readsAtOnce = 64;

/** What the loop keeps in memory of a status or a tombstone: some 200 bytes, so 10,000 take 2 MB. */
interface Item {
  readonly name: string;
  readonly as: "status" | "tombstone";
  /** `unread`: only its name is known. */
  state: "unread" | "pending" | "dead";
  /** On the monotonic clock. */
  dueAt: number;
  /** Seconds since 1970. */
  since: number;
  bytes: number;
  /** How often the service answered and it failed: those that failed go behind the others. */
  attempts: number;
  error: UploadError | null;
  /** How often something asked for it: what was read before the last time does not count. */
  asked: number;
  /** It is about to be deleted: it is not begun any more. */
  isHeld: boolean;
}

/**
 * Sends what the statuses and tombstones of a directory ask for, one at a time, oldest first, for as long
 * as it takes: through outages, refusals and restarts. What it needs to know is in those files; a
 * success is written there before it is told. One upload never harms another: each failure is its own,
 * but for those of the whole target.
 */
export class UploadLoop implements Sender {
  readonly #ports: UploadLoopPorts;
  readonly #items = new Map<string, Item>();
  readonly #buckets = new Map<string, S3Bucket>();
  readonly #listeners = new Set<(name: string) => void>();
  readonly #running = new Map<string, { stop(): void; readonly done: Promise<unknown> }>();
  /** Why the target is not asked before `#targetDueAt`, on the monotonic clock. */
  #targetError: AttemptError | null = null;
  #targetFailures = 0;
  #targetDueAt: number;
  #lastError: UploadError | null = null;
  #loop: Promise<void> | undefined;
  #cancelTimer: () => void = () => undefined;
  /** Somebody asked for uploads in this run: what is dead is tried again, also what is read later. */
  #isAskedFor = false;
  #isClosed = false;

  constructor(ports: UploadLoopPorts) {
    this.#ports = ports;
    this.#targetDueAt = ports.clock.monotonic();
    ports.packages.connect(this);
  }

  /**
   * Takes up what earlier runs left, by name; it is read 64 at a time while the first of it goes up
   * already. Resolves when the names are known.
   */
  async start(): Promise<void> {
    for (const { name, as } of await this.#ports.packages.noted()) {
      if (as === "status" || as === "tombstone") this.#item(name, as);
    }
    this.#kick();
  }

  /** Why everything waits: the last answer of a target that is away or says no. */
  get targetError(): AttemptError | null {
    return this.#targetError;
  }

  /** Whether all that earlier runs left is known. */
  get isRead(): boolean {
    return this.#unread(1).length === 0;
  }

  statistics(): OutboxStatistics {
    const items = [...this.#items.values()].filter(({ state }) => state !== "unread");
    const dead = items.filter(({ state }) => state === "dead");
    const since = items.reduce((first, item) => Math.min(first, item.since), Infinity);
    return {
      pending: items.length - dead.length,
      dead: dead.length,
      bytes: items.reduce((sum, { bytes }) => sum + bytes, 0),
      oldest_at: Number.isFinite(since) ? isoTime(since * 1_000) : null,
      last_error: this.#lastError ?? dead.at(-1)?.error ?? null,
    };
  }

  /** Calls back with the name of each package that was uploaded. @returns a function that ends it. */
  onUploaded(listener: (name: string) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  pending(
    name: string,
    as: Item["as"],
    { since, bytes = 0 }: { readonly since: number; readonly bytes?: number },
  ): void {
    const item = this.#item(name, as);
    item.asked++;
    item.state = "pending";
    item.since = since;
    item.bytes = bytes;
    item.dueAt = this.#ports.clock.monotonic();
    this.#kick();
  }

  async hold(name: string): Promise<(isGone: boolean) => void> {
    const item = this.#items.get(`${name}.status`);
    if (item !== undefined) item.isHeld = true;
    await this.#stop(name);
    return (isGone) => {
      if (item === undefined) return;
      item.isHeld = false;
      if (isGone) this.#delete(item);
      this.#kick();
    };
  }

  /** Somebody asks for uploads: everything is tried now, also what is dead or not read yet. */
  probe(): void {
    const now = this.#ports.clock.monotonic();
    this.#isAskedFor = true;
    this.#targetFailures = 0;
    this.#targetDueAt = now;
    for (const item of this.#items.values()) {
      item.dueAt = now;
      if (item.state === "dead") item.state = "unread";
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
  ): Promise<AttemptError | undefined> {
    if (!this.#isTargetDue || this.#isClosed) return this.#targetError ?? stoppedError;
    const outcome = await this.#alone(name, (own) => {
      const signal = stop === undefined ? own : AbortSignal.any([own, stop]);
      const bucket = this.#bucket(this.#ports.target.bucket);
      return this.#attempt(signal, () => work(bucket, signal));
    });
    if (outcome === "done") return undefined;
    return outcome === "stopped" ? stoppedError : outcome.error;
  }

  /** Stops what is being sent, and lets go of everything. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#cancelTimer();
    for (const name of Array.from(this.#running.keys())) await this.#stop(name);
    await this.idle();
    for (const bucket of this.#buckets.values()) bucket.close();
  }

  get #isTargetDue(): boolean {
    return this.#ports.clock.monotonic() >= this.#targetDueAt;
  }

  #item(name: string, as: Item["as"]): Item {
    const key = `${name}.${as}`;
    const known = this.#items.get(key);
    if (known !== undefined) return known;
    const item: Item = {
      name,
      as,
      state: "unread",
      dueAt: 0,
      since: 0,
      bytes: 0,
      attempts: 0,
      error: null,
      asked: 0,
      isHeld: false,
    };
    this.#items.set(key, item);
    return item;
  }

  #delete({ name, as }: Item): void {
    this.#items.delete(`${name}.${as}`);
  }

  #unread(count: number): readonly Item[] {
    const found: Item[] = [];
    for (const item of this.#items.values()) {
      if (found.length === count) break;
      if (item.state === "unread") found.push(item);
    }
    return found;
  }

  /** The one whose turn it is, of those that are due. */
  #next(): Item | undefined {
    if (!this.#isTargetDue) return undefined;
    const now = this.#ports.clock.monotonic();
    let first: Item | undefined;
    for (const item of this.#items.values()) {
      const isDue = isReady(item) && item.dueAt <= now;
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
    while (!this.#isClosed) {
      await Promise.all(this.#unread(readsAtOnce).map((item) => this.#read(item)));
      const item = this.#next();
      if (item !== undefined) await this.#alone(item.name, (signal) => this.#send(item, signal));
      else if (this.isRead) return;
    }
  }

  /** Until the target may be asked and something is due. */
  #sleep(): void {
    this.#cancelTimer();
    let dueAt = Number.POSITIVE_INFINITY;
    for (const item of this.#items.values()) if (isReady(item)) dueAt = Math.min(dueAt, item.dueAt);
    if (!Number.isFinite(dueAt) || this.#isClosed) return;
    const delayMs = Math.max(dueAt, this.#targetDueAt) - this.#ports.clock.monotonic();
    this.#cancelTimer = this.#ports.timers.after(Math.max(delayMs, 1), () => this.#kick());
  }

  /** Reads what is to be done about it, if anything. */
  async #read(item: Item): Promise<void> {
    const { packages, logger } = this.#ports;
    const { name, as, asked: before } = item;
    try {
      const status = as === "status" ? (await packages.status(name))?.upload : undefined;
      const asked = as === "status" ? status : await packages.tombstone(name);
      if (item.asked !== before) return; // the status that was read is an older one
      if (asked === undefined || asked.state === "done") return this.#delete(item);
      item.since = asked.since;
      item.error = asked.error;
      item.bytes = status?.bytes ?? 0;
      item.state = asked.state === "dead" && !this.#isAskedFor ? "dead" : "pending";
    } catch (error) {
      // It is to be sent all the same: the attempt reads it again.
      item.state = "pending";
      const code = (error as { readonly code?: unknown }).code;
      logger.warn({ package: name, code }, "what is to be sent of a package could not be read");
    }
  }

  async #send(item: Item, signal: AbortSignal): Promise<void> {
    const { packages } = this.#ports;
    const { name } = item;
    let isUploaded = false;
    const outcome = await this.#attempt(signal, async () => {
      if (item.as === "tombstone") {
        const tombstone = await packages.tombstone(name);
        if (tombstone !== undefined) await finishTombstone(name, tombstone, this.#work, signal);
      } else {
        const status = await packages.status(name);
        if (status) isUploaded = await sendPackage(name, status, this.#work, signal);
      }
    });
    if (outcome === "done") {
      item.attempts = 0;
      await this.#read(item); // by now there may be more to be sent
      if (isUploaded) for (const listener of this.#listeners) listener(name);
    } else if (outcome !== "stopped") await this.#settle(item, outcome);
  }

  get #work(): WorkPorts {
    return { ...this.#ports, bucket: (name) => this.#bucket(name) };
  }

  /** Notes a failure, and when it is tried again. */
  async #settle(item: Item, { error, waits }: Failure): Promise<void> {
    const { clock, jitter, logger } = this.#ports;
    const before = item.error;
    item.error = error;
    if (waits === "dead") {
      item.state = "dead";
      logger.warn({ package: item.name, ...error }, "a package will not go up by itself");
    } else {
      if (error.status !== null || waits === "package") item.attempts++;
      // A service that does not answer tells nothing of this package: it is due when the target is.
      const delayMs = waits === "package" ? backoffMs(item.attempts, jitter) : 0;
      item.dueAt = clock.monotonic() + delayMs;
    }
    const isNew = error.class !== before?.class || error.code !== before?.code;
    if (isNew || this.#isAskedFor) await this.#note(item, error);
  }

  /** Writes a failure down. One that cannot be written is the same again in the next run. */
  async #note({ name, as, state }: Item, error: UploadError): Promise<void> {
    const { packages, logger } = this.#ports;
    try {
      await packages.failed(name, as, { state: state === "dead" ? "dead" : "failed", error });
    } catch (failure) {
      const { code } = failureOf(failure).error;
      logger.warn({ package: name, code }, "why a package was not sent could not be noted");
    }
  }

  /** Work for a package, which `#stop` can end and wait for. */
  async #alone<T>(name: string, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const controller = new AbortController();
    const stop = () => controller.abort(new Error("the upload was stopped"));
    const done = work(controller.signal);
    const running = { stop, done };
    this.#running.set(name, running);
    try {
      return await done;
    } finally {
      if (this.#running.get(name) === running) this.#running.delete(name);
    }
  }

  /** One attempt at anything, and what it tells of the target. */
  async #attempt(
    signal: AbortSignal,
    call: () => Promise<void>,
  ): Promise<Failure | "done" | "stopped"> {
    const span = this.#ports.telemetry.begin({ type: "upload" });
    try {
      await span.run(call);
      span.end();
      this.#targetError = null;
      this.#targetFailures = 0;
      this.#targetDueAt = this.#ports.clock.monotonic();
      this.#lastError = null;
      return "done";
    } catch (thrown) {
      const failure = failureOf(thrown);
      const { error } = failure;
      span.end(signal.aborted ? undefined : (error.code ?? error.class));
      if (signal.aborted) return "stopped";
      this.#lastError = error;
      if (failure.waits === "target") this.#targetFailed(error);
      return failure;
    }
  }

  #targetFailed(error: AttemptError): void {
    const { clock, jitter, logger } = this.#ports;
    const isNew = error.class !== this.#targetError?.class;
    this.#targetError = error;
    this.#targetDueAt = clock.monotonic() + backoffMs(++this.#targetFailures, jitter);
    if (error.class === "retry" || !isNew) return;
    const mended: Partial<Record<AttemptError["class"], string>> = refusals;
    const says = mended[error.class] ?? "uploads are refused: nothing goes up until that is mended";
    logger.error({ ...error }, says);
  }

  #bucket(name: string): S3Bucket {
    const bucket = this.#buckets.get(name) ?? this.#ports.connect(name);
    this.#buckets.set(name, bucket);
    return bucket;
  }

  async #stop(name: string): Promise<void> {
    const running = this.#running.get(name);
    running?.stop();
    await running?.done.catch(() => undefined); // what it means is told where it was started
  }
}

const isReady = ({ state, isHeld }: Item) => state === "pending" && !isHeld;

function isBefore(left: Item, right: Item): boolean {
  return left.attempts === right.attempts ? left.name < right.name : left.attempts < right.attempts;
}

/** What a person can mend, in words. */
export const refusals = {
  no_client: "packages stay on this machine until: npm install @aws-sdk/client-s3",
  no_credentials: "packages stay on this machine until there are credentials for the bucket",
} as const satisfies Partial<Record<AttemptError["class"], string>>;

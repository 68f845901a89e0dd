import assert from "node:assert/strict";
import { silentLogger } from "../../../src/core/logger.ts";
import type { Disk } from "../../../src/core/storage/disk/disk.ts";
import { silentTelemetry, type Telemetry } from "../../../src/core/telemetry.ts";
import { PackageDirectory } from "../../../src/moments/directory/package-directory.ts";
import { keyPrefix } from "../../../src/moments/package/package-name.ts";
import type { PackageSink } from "../../../src/moments/package/package-sink.ts";
import type { UploadTarget } from "../../../src/moments/package/record.ts";
import { resolveTarget, type S3TargetOptions } from "../../../src/moments/s3/options.ts";
import { type ObjectToPut, S3Bucket } from "../../../src/moments/s3/s3-bucket.ts";
import { bucketSink } from "../../../src/moments/upload/bucket-sink.ts";
import { Outbox } from "../../../src/moments/upload/outbox.ts";
import { seededRandom } from "../../../src/testing/random.ts";
import { HeldClock } from "../held-clock.ts";
import { SimulatedDisk } from "../simulated-disk.ts";
import { S3Server, type S3ServerOptions } from "./s3-server.ts";
import type { SamplePackage } from "./sample-package.ts";
import { VirtualTime } from "./virtual-time.ts";

export interface UploadWorldOptions {
  /** A server that runs, and is not closed with this world. Default: one of its own. */
  readonly at?: S3Server;
  readonly server?: S3ServerOptions;
  readonly target?: Partial<S3TargetOptions>;
  /** @default true */
  readonly keepLocal?: boolean;
  /** Must have a directory `/home`. Default: a simulated one. */
  readonly disk?: Disk;
  readonly load?: (() => Promise<object>) | undefined;
  readonly telemetry?: Telemetry;
  /** @default none: it is not known, and writing will show */
  readonly freeSpace?: () => Promise<number>;
}

const path = "/home/feedback";

/** Where a package lies in the bucket. */
export const prefixOf = ({ sessionId, name }: SamplePackage) => keyPrefix(sessionId, name);

/**
 * A server, a machine with packages on a disk, and a clock that both live by. The client is the real one,
 * over real connections.
 */
export class UploadWorld {
  readonly clock = new HeldClock();
  readonly time: VirtualTime;
  readonly server: S3Server;
  /** Names of packages, as the loop said that they are uploaded. */
  readonly uploaded: string[] = [];
  /** What was logged as an error. */
  readonly errors: object[] = [];
  /** And as a warning. */
  readonly warnings: object[] = [];
  readonly disk: Disk;
  packages!: PackageDirectory;
  uploader!: Outbox;
  sink!: PackageSink;
  /** Buckets that were connected to: none in a world that never sends. */
  connected = 0;
  readonly #options: UploadWorldOptions;
  readonly #inFlight: { count: number };
  #ids = 0;

  private constructor(
    options: UploadWorldOptions,
    server: S3Server,
    time: VirtualTime,
    inFlight: { count: number },
  ) {
    this.#options = options;
    this.#inFlight = inFlight;
    this.server = server;
    this.time = time;
    this.clock = time.clock;
    this.disk = options.disk ?? new SimulatedDisk();
  }

  static async open(options: UploadWorldOptions = {}): Promise<UploadWorld> {
    const inFlight = { count: 0 };
    const held = { count: () => 0 };
    const time = new VirtualTime(new HeldClock(), () => inFlight.count > held.count());
    const server = options.at ?? (await S3Server.start({ timers: time, ...options.server }));
    held.count = () => server.held;
    const world = new UploadWorld(options, server, time, inFlight);
    if (options.disk === undefined) await world.disk.mkdir("/home");
    await world.#begin();
    return world;
  }

  /** A world whose uploads have begun. */
  static async started(options: UploadWorldOptions = {}): Promise<UploadWorld> {
    const world = await UploadWorld.open(options);
    await world.uploader.start();
    return world;
  }

  /** Asserts that the bucket has a package, and never had its manifest without the rest. */
  assertWhole(sample: SamplePackage): void {
    const objects = this.server.objects("moments");
    for (const [name, bytes] of sample.files) {
      assert.ok(objects.get(prefixOf(sample) + name)?.body.equals(bytes), name);
    }
    assert.deepEqual(this.server.journal.brokenInstants, []);
  }

  /** What was stored, in order: the paths in packages. */
  puts(): readonly string[] {
    return this.server.journal.entries
      .filter(({ operation, status }) => operation === "PutObject" && status === 200)
      .map(({ key }) => key.split("/").slice(3).join("/"));
  }

  /** The process dies and another one starts: what was in memory is gone. */
  async restart(): Promise<void> {
    await this.uploader.close();
    await this.#begin();
    await this.uploader.start();
  }

  /** A package as mode `local+s3` leaves it: on the disk, and pending. */
  async save({ moment }: SamplePackage, upload = true): Promise<void> {
    const { record } = moment;
    const consent = { ...record.consent, upload };
    await this.packages.save({ ...moment, record: { ...record, consent } });
  }

  /** A package as mode `s3` handles it: from memory; on the disk and pending when that fails. */
  async send(sample: SamplePackage): Promise<"memory" | "disk"> {
    const { uploaded } = await this.whileTimePasses(this.sendFromMemory(sample));
    return uploaded === true ? "memory" : "disk";
  }

  /** Begins to send a package from memory. No time passes by that. */
  sendFromMemory({ moment }: SamplePackage, signal?: AbortSignal) {
    return this.sink.save(moment, signal);
  }

  /** What is still to be sent, as it lies on the disk: names with what is to be done. */
  async left(): Promise<readonly string[]> {
    const found: string[] = [];
    for (const name of await this.packages.noted()) {
      const asked = await this.packages.asked(name);
      const isForgotten = asked !== undefined && "places" in asked;
      const { state = "done" } = isForgotten ? { state: "tombstone" } : (asked?.upload ?? {});
      if (state !== "done") found.push(`${name} ${state}`);
    }
    return found;
  }

  async whileTimePasses<T>(work: Promise<T>): Promise<T> {
    let isDone = false;
    const settled = () => {
      isDone = true;
    };
    work.then(settled, settled);
    await this.time.until(() => isDone);
    return await work;
  }

  /** Lets time pass until nothing is pending any more, but for what failed. @returns whether so. */
  untilNothingPends(ms = 48 * 3_600_000): Promise<boolean> {
    const isDone = () => this.uploader.isRead && this.uploader.statistics().pending === 0;
    return this.time.until(isDone, ms);
  }

  async close(): Promise<void> {
    await this.uploader.close();
    if (this.#options.at === undefined) await this.server.close();
  }
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #begin(): Promise<void> {
    const { server, clock, time, disk } = this;
    const { keepLocal = true, load, freeSpace } = this.#options;
    const options = resolveTarget({
      ...{ bucket: "moments", endpoint: server.endpoint, credentials: server.credentials },
      ...this.#options.target,
    });
    const { bucket, region, endpoint = null } = options;
    const target: UploadTarget = { bucket, region, endpoint };
    const random = seededRandom(1);
    this.packages = await PackageDirectory.open({
      disk,
      path,
      clock,
      newId: () => `id${++this.#ids}`,
      upload: { target, keepLocal },
      ...(freeSpace === undefined ? {} : { freeSpace }),
    });
    const { packages } = this;
    const count = this.#inFlight;
    const look = () => this.time.look();
    const ports = { timers: time, logger: silentLogger, load };
    this.uploader = new Outbox({
      ...{ packages, clock, timers: time, target },
      logger: {
        ...silentLogger,
        error: (fields) => this.errors.push(fields as object),
        warn: (fields) => this.warnings.push(fields as object),
      },
      jitter: () => random(1_000) / 1_000,
      telemetry: this.#options.telemetry ?? silentTelemetry,
      connect: (name) => {
        this.connected++;
        return new CountedBucket({ ...options, bucket: name }, ports, count, look);
      },
    });
    this.uploader.onUploaded((name) => this.uploaded.push(name));
    const first = keepLocal ? "disk" : "bucket";
    const outbox = this.uploader;
    this.sink = bucketSink({ outbox, packages, first, timers: time });
  }
}

/** Counts calls under way, so that no time passes while one is. */
class CountedBucket extends S3Bucket {
  readonly #count: { count: number };
  readonly #look: () => void;

  constructor(
    target: ConstructorParameters<typeof S3Bucket>[0],
    ports: ConstructorParameters<typeof S3Bucket>[1],
    count: { count: number },
    look: () => void,
  ) {
    super(target, ports);
    this.#count = count;
    this.#look = look;
  }

  async #counted<T>(call: Promise<T>): Promise<T> {
    this.#count.count++;
    try {
      return await call;
    } finally {
      this.#count.count--;
      this.#look();
    }
  }
  override put(object: ObjectToPut, signal: AbortSignal, condition?: "*") {
    return this.#counted(super.put(object, signal, condition));
  }
  override get(key: string, signal: AbortSignal) {
    return this.#counted(super.get(key, signal));
  }
  override async *list(prefix: string, signal: AbortSignal) {
    const objects = super.list(prefix, signal);
    for (;;) {
      const next = await this.#counted(objects.next());
      if (next.done) return;
      yield next.value;
    }
  }
  override remove(key: string, signal: AbortSignal) {
    return this.#counted(super.remove(key, signal));
  }
}

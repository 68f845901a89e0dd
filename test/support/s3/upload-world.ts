import { silentLogger } from "../../../src/core/logger.ts";
import type { Disk } from "../../../src/core/storage/disk/disk.ts";
import type { NewReport } from "../../../src/core/storage/files/file-ports.ts";
import { Outbox } from "../../../src/moments/outbox/outbox.ts";
import { Uploader } from "../../../src/moments/outbox/uploader.ts";
import type { UploadEvent } from "../../../src/moments/outbox/uploader-ports.ts";
import { resolveS3Options, type S3TargetOptions } from "../../../src/moments/s3/options.ts";
import type { S3Port } from "../../../src/moments/s3/s3-port.ts";
import { type SdkPortPorts, SdkS3Port } from "../../../src/moments/s3/sdk-port.ts";
import { seededRandom } from "../../../src/testing/random.ts";
import { HeldClock } from "../held-clock.ts";
import { SimulatedDisk } from "../simulated-disk.ts";
import { MemoryPackages } from "./memory-packages.ts";
import { S3Server, type S3ServerOptions } from "./s3-server.ts";
import type { SamplePackage } from "./sample-package.ts";
import { VirtualTime } from "./virtual-time.ts";

export interface UploadWorldOptions {
  /** A server that runs, and is not closed with this world. Default: one of its own. */
  readonly at?: S3Server;
  readonly packages?: MemoryPackages;
  readonly server?: S3ServerOptions;
  readonly target?: Partial<S3TargetOptions>;
  /** @default true */
  readonly keepLocal?: boolean;
  /** Must have a directory `/home`. Default: a simulated one. */
  readonly disk?: Disk;
  readonly load?: SdkPortPorts["load"];
}

/**
 * A server, a machine with packages and an outbox, and a clock that both live by. The client is the
 * real one, over real connections.
 */
export class UploadWorld {
  readonly clock = new HeldClock();
  readonly time: VirtualTime;
  readonly server: S3Server;
  readonly packages: MemoryPackages;
  readonly events: UploadEvent[] = [];
  readonly reports: NewReport[] = [];
  readonly disk: Disk;
  uploader: Uploader;
  /** Ports that were made: none in a world that never sends. */
  ports = 0;
  readonly #options: UploadWorldOptions;
  readonly #inFlight: { count: number };

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
    this.packages = options.packages ?? new MemoryPackages();
    this.uploader = this.#newUploader();
  }

  static async open(options: UploadWorldOptions = {}): Promise<UploadWorld> {
    const inFlight = { count: 0 };
    const held = { count: () => 0 };
    const time = new VirtualTime(new HeldClock(), () => inFlight.count > held.count());
    const server = options.at ?? (await S3Server.start({ timers: time, ...options.server }));
    held.count = () => server.held;
    const world = new UploadWorld(options, server, time, inFlight);
    if (options.disk === undefined) await world.disk.mkdir("/home");
    return world;
  }

  /** The process dies and another one starts: what was in memory is gone. */
  async restart(): Promise<void> {
    await this.uploader.close();
    this.uploader = this.#newUploader();
    await this.uploader.start();
  }

  /** A package as mode `local+s3` leaves it: on the disk, and owed. */
  async save(sample: SamplePackage, upload = true): Promise<void> {
    const { name, sessionId: session_id } = sample;
    await this.uploader.owed.saving({ name, session_id, consent: { upload } });
    this.packages.add(sample);
    await this.uploader.owed.saved(name);
  }

  /** A package as mode `s3` handles it: from memory; on the disk and owed when that fails. */
  async send(sample: SamplePackage): Promise<"memory" | "disk"> {
    const sent = await this.whileTimePasses(this.sendFromMemory(sample));
    if (sent.uploaded) return "memory";
    await this.save(sample);
    return "disk";
  }

  /** Begins to send a package from memory. No time passes by that. */
  sendFromMemory({ name, sessionId, files }: SamplePackage, isKeyed = false) {
    const bytes = async (path: string) => files.get(path) ?? Buffer.alloc(0);
    const source = {
      manifest: () => bytes("feedback.json"),
      part: (_name: string, path: string) => bytes(path),
    };
    return this.uploader.fromMemory.send(name, sessionId, source, { isKeyed });
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

  /** Lets time pass until nothing is owed any more, or only what is parked. @returns whether so. */
  untilNothingPends(ms = 48 * 3_600_000): Promise<boolean> {
    return this.time.until(() => this.uploader.statistics().pending === 0, ms);
  }

  async close(): Promise<void> {
    await this.uploader.close();
    if (this.#options.at === undefined) await this.server.close();
  }
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #newUploader(): Uploader {
    const { server, clock, time, packages } = this;
    const target = resolveS3Options({
      ...{ bucket: "moments", endpoint: server.endpoint, credentials: server.credentials },
      ...this.#options.target,
    });
    const random = seededRandom(1);
    let ids = 0;
    const report = (what: NewReport) => this.reports.push(what);
    const newId = () => `id${this.ports}x${++ids}`;
    const outbox = new Outbox(
      { disk: this.disk, newId, unsyncedNames: new Set(), report },
      "/home",
    );
    const uploader = new Uploader(
      { ...target, keepLocal: this.#options.keepLocal ?? true },
      {
        ...{ outbox, packages, clock, timers: time, logger: silentLogger },
        jitter: () => random(1_000) / 1_000,
        connect: (bucket) => {
          this.ports++;
          const { load } = this.#options;
          const ports = { timers: time, ...(load === undefined ? {} : { load }) };
          return this.#counted(new SdkS3Port({ ...target, bucket }, ports));
        },
      },
    );
    uploader.onEvent((event) => this.events.push(event));
    return uploader;
  }

  /** Counts calls under way, so that no time passes while one is. */
  #counted(port: S3Port): S3Port {
    const counted = <A extends readonly unknown[], T>(call: (...args: A) => Promise<T>) => {
      return async (...args: A): Promise<T> => {
        this.#inFlight.count++;
        try {
          return await call(...args);
        } finally {
          this.#inFlight.count--;
          this.time.look();
        }
      };
    };
    return {
      put: counted((object, signal) => port.put(object, signal)),
      head: counted((key, signal) => port.head(key, signal)),
      get: counted((key, signal) => port.get(key, signal)),
      list: counted((prefix, after, signal) => port.list(prefix, after, signal)),
      remove: counted((key, signal) => port.remove(key, signal)),
      hasBucket: counted((signal) => port.hasBucket(signal)),
      createBucket: counted((signal) => port.createBucket(signal)),
      blockPublicAccess: counted((signal) => port.blockPublicAccess(signal)),
      reloadCredentials: () => port.reloadCredentials(),
      close: () => port.close(),
    };
  }
}

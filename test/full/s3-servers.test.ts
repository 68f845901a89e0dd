// Uploads against servers that others wrote. Where a server is not installed the test is skipped and
// says so; in CI, which installs them, it fails instead.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { accessSync, constants, readdirSync, readFileSync } from "node:fs";
import { mkdir, mkdtemp, open, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { test } from "node:test";
import { setTimeout as wait } from "node:timers/promises";
import { systemClock } from "../../src/core/clock.ts";
import { randomId } from "../../src/core/ids.ts";
import { silentLogger } from "../../src/core/logger.ts";
import { realDisk } from "../../src/core/storage/disk/disk.ts";
import { silentTelemetry } from "../../src/core/telemetry.ts";
import { systemTimers } from "../../src/core/timers.ts";
import { PackageDirectory } from "../../src/moments/directory/package-directory.ts";
import { hashOf } from "../../src/moments/package/content.ts";
import { keyPrefix } from "../../src/moments/package/package-name.ts";
import type { PackageSink } from "../../src/moments/package/package-sink.ts";
import { resolveTarget, type S3Credentials } from "../../src/moments/s3/options.ts";
import { S3Bucket } from "../../src/moments/s3/s3-bucket.ts";
import { bucketSink } from "../../src/moments/upload/bucket-sink.ts";
import { forgetInBucket } from "../../src/moments/upload/in-bucket.ts";
import { Outbox } from "../../src/moments/upload/outbox.ts";
import { freePort } from "../support/loopback.ts";
import { S3Server } from "../support/s3/s3-server.ts";
import { type SamplePackage, samplePackage } from "../support/s3/sample-package.ts";

interface RealServer {
  readonly name: string;
  readonly program: string;
  readonly script: string;
  /** How many ports it takes, of which the first is that of S3. */
  readonly ports: number;
  readonly credentials: S3Credentials;
}

const servers: readonly RealServer[] = [
  {
    ...{ name: "Ceph RGW", program: "radosgw", script: "start-ceph-rgw.sh", ports: 2 },
    credentials: { accessKeyId: "test", secretAccessKey: "testsecret" },
  },
  {
    ...{ name: "Swift", program: "swift-proxy-server", script: "start-swift.sh", ports: 5 },
    credentials: { accessKeyId: "test:tester", secretAccessKey: "testing" },
  },
];

const signal = new AbortController().signal;

for (const server of servers) {
  const isThere = isInstalled(server.program);
  const isOptional = !isThere && process.env["CI"] === undefined;
  const skip = isOptional ? `${server.program} is not installed` : false;
  test(`packages go up to ${server.name}, through a kill, a conflict, a retraction and a deletion`, {
    ...{ skip, timeout: 420_000 },
  }, async () => {
    assert.ok(isThere, `${server.program} must be installed in CI`);
    await withServer(server, proveUploads);
  });
}

test("packages go up to the server of these tests, by the same steps", async () => {
  await using server = await S3Server.start({ buckets: [] });
  await proveUploads(server.endpoint, server.credentials);
});

async function proveUploads(endpoint: string, credentials: S3Credentials): Promise<void> {
  const home = await mkdtemp(join(tmpdir(), "throughline-s3-"));
  const options = { bucket: "moments", endpoint, credentials, createBucket: true };
  const port = new S3Bucket(resolveTarget(options), { timers: systemTimers, logger: silentLogger });
  const machine = await Machine.open(home, options);
  try {
    const missing = await Machine.open(home, {
      ...options,
      bucket: "nowhere",
      createBucket: false,
    });
    const first = samplePackage({ number: 0, frames: 5 });
    await missing.save(first);
    assert.equal(missing.uploader.targetError?.code, "NoSuchBucket");
    await missing.uploader.close();

    await machine.start();
    await machine.save(first);
    assert.deepEqual(machine.uploaded, [first.name]);
    await assertWhole(port, first);

    const wrong = { accessKeyId: `${credentials.accessKeyId}x`, secretAccessKey: "wrong" };
    const stranger = await Machine.open(home, { ...options, credentials: wrong });
    await stranger.save(samplePackage({ number: 1 }));
    assert.equal(stranger.uploader.targetError?.class, "refused");
    await stranger.uploader.close();

    // Two of the objects are there, as a process leaves them that died.
    const second = samplePackage({ number: 2, frames: 5 });
    const prefix = keyPrefix(second.sessionId, second.name);
    for (const { path, sha256, media_type: contentType } of second.manifest.files.slice(0, 2)) {
      const body = second.files.get(path) ?? Buffer.alloc(0);
      const object = { key: prefix + path, body, contentType, sha256 };
      await port.put(object, signal);
    }
    await machine.save(second);
    await assertWhole(port, second);

    const third = samplePackage({ number: 3 });
    const key = `${keyPrefix(third.sessionId, third.name)}feedback.json`;
    const theirs = { key, body: Buffer.from("theirs"), contentType: "text/plain" };
    await port.put({ ...theirs, sha256: hashOf("sha256", [theirs.body]) }, signal);
    await machine.save(third);
    assert.equal(machine.uploader.statistics().last_error?.class, "conflict");
    assert.equal((await port.get(key, signal))?.toString(), "theirs");

    const { retracted } = await machine.packages.retract(second.name, {
      by: null,
      reason: "a mistake",
    });
    await machine.settled(second.name);
    const mark = await port.get(`${prefix}retracted.json`, signal);
    const { at, reason } = JSON.parse(mark?.toString() ?? "");
    assert.deepEqual([at, reason], [retracted?.timestamp, "a mistake"]);

    await machine.packages.delete({ name: second.name });
    await machine.settled(second.name);
    assert.deepEqual(await Array.fromAsync(port.list(prefix, signal)), []);
    await assertWhole(port, first);

    // From memory, with no checksum, by another device; and forgotten here because somebody asks.
    const other = await Machine.open(home, { ...options, checksums: "off" });
    const fourth = samplePackage({ number: 4 });
    assert.equal((await other.sink.save(fourth.moment)).uploaded, true);
    await assertWhole(port, fourth);
    await other.uploader.close();
    assert.equal(
      await forgetInBucket(machine.packages, machine.uploader, { name: fourth.name }),
      true,
    );
    const there = keyPrefix(fourth.sessionId, fourth.name);
    assert.deepEqual(await Array.fromAsync(port.list(there, signal)), []);
    await assertWhole(port, first);
  } finally {
    await machine.uploader.close();
    port.close();
    await rm(home, { recursive: true });
  }
}

/** One machine with its packages on the real disk. */
class Machine {
  readonly packages: PackageDirectory;
  readonly uploaded: string[] = [];
  readonly uploader: Outbox;
  readonly sink: PackageSink;

  private constructor(packages: PackageDirectory, target: ReturnType<typeof resolveTarget>) {
    const { bucket, region, endpoint = null } = target;
    const ports = { packages, clock: systemClock, timers: systemTimers };
    const logger = silentLogger;
    this.packages = packages;
    this.uploader = new Outbox({
      ...{ ...ports, logger, telemetry: silentTelemetry },
      target: { bucket, region, endpoint },
      connect: (name) => new S3Bucket({ ...target, bucket: name }, { ...ports, logger }),
    });
    this.uploader.onUploaded((name) => this.uploaded.push(name));
    this.sink = bucketSink({ ...ports, outbox: this.uploader, first: "bucket" });
  }

  static async open(home: string, options: Parameters<typeof resolveTarget>[0]): Promise<Machine> {
    const target = resolveTarget(options);
    const { bucket, region, endpoint = null } = target;
    const path = join(await mkdtemp(join(home, "machine-")), "feedback");
    const packages = await PackageDirectory.open({
      ...{ disk: realDisk, path, clock: systemClock, newId: randomId },
      upload: { target: { bucket, region, endpoint }, keepLocal: true },
    });
    return new Machine(packages, target);
  }

  start(): Promise<void> {
    return this.uploader.start();
  }

  async save({ moment, name }: SamplePackage): Promise<void> {
    await this.packages.save(moment);
    await this.settled(name);
  }

  /** Waits until nothing of a package is to be sent any more, or until the target refuses everything. */
  async settled(name: string): Promise<void> {
    for (const until = performance.now() + 180_000; ; await wait(100)) {
      await this.uploader.idle();
      const { targetError } = this.uploader;
      if (targetError !== null && targetError.class !== "retry") return;
      const { packages } = this;
      const found = await packages.asked(name);
      const asked = found && "places" in found ? found : found?.upload;
      if (asked === undefined || asked.state === "done" || asked.state === "dead") return;
      // A busy server may say that it is to be asked again.
      assert.ok(performance.now() < until, JSON.stringify([asked, targetError?.note]));
      await this.uploader.probe();
    }
  }
}

async function assertWhole(
  port: S3Bucket,
  { files, name, sessionId }: SamplePackage,
): Promise<void> {
  for (const [path, bytes] of files) {
    const found = await port.get(keyPrefix(sessionId, name) + path, signal);
    assert.ok(found?.equals(bytes), path);
  }
}

async function withServer(
  { script, ports, credentials }: RealServer,
  use: (endpoint: string, credentials: S3Credentials) => Promise<void>,
): Promise<void> {
  // A cluster that does not come up is started again: a fresh Ceph hangs now and then.
  for (let attempt = 1; ; attempt++) {
    const directory = await mkdtemp(join(tmpdir(), "throughline-server-"));
    try {
      await mkdir(join(directory, "data"));
      const first = await freePort(ports);
      const free = Array.from({ length: ports }, (_, n) => String(first + n));
      const args = [join(directory, "data"), ...free];
      const problem = await run(script, args, join(directory, "log"));
      if (problem === undefined) {
        return await use(`http://127.0.0.1:${first}`, credentials);
      }
      if (attempt === 4) assert.fail(problem);
    } finally {
      stopProcesses(join(directory, "data"));
      await rm(directory, { recursive: true, force: true, maxRetries: 5 });
    }
  }
}

/** @returns the end of what it said, when it failed. */
async function run(script: string, args: readonly string[], logPath: string) {
  // To a file: its servers live on with whatever it writes to.
  const log = await open(logPath, "a");
  const command = ["-k", "1", "75", "bash", join(import.meta.dirname, script), ...args];
  const child = spawn("timeout", command, { stdio: ["ignore", log.fd, log.fd] });
  const code = await new Promise((resolve) => child.once("exit", resolve));
  await log.close();
  return code === 0 ? undefined : `${code}: ${readFileSync(logPath, "utf8").slice(-2_000)}`;
}

function stopProcesses(directory: string): void {
  for (const file of readdirSync(directory).filter((name) => name.endsWith(".pid"))) {
    try {
      process.kill(Number(readFileSync(join(directory, file), "utf8")), "SIGKILL");
    } catch {
      // It has ended by itself.
    }
  }
}

function isInstalled(program: string): boolean {
  const folders = [...(process.env["PATH"] ?? "").split(delimiter), "/usr/bin", "/usr/sbin"];
  return folders.some((folder) => {
    try {
      accessSync(join(folder, program), constants.X_OK);
      return true;
    } catch {
      return false; // not here
    }
  });
}

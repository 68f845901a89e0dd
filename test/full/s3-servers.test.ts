// Uploads against servers that others wrote. Where a server is not installed the test is skipped and
// says so; in CI, which installs them, it fails instead.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { accessSync, constants, readdirSync, readFileSync } from "node:fs";
import { mkdir, mkdtemp, open, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { test } from "node:test";
import { systemClock } from "../../src/core/clock.ts";
import { randomId } from "../../src/core/ids.ts";
import { silentLogger } from "../../src/core/logger.ts";
import { realDisk } from "../../src/core/storage/disk/disk.ts";
import { systemTimers } from "../../src/core/timers.ts";
import { systemJitter } from "../../src/moments/outbox/backoff.ts";
import { Outbox } from "../../src/moments/outbox/outbox.ts";
import { Uploader } from "../../src/moments/outbox/uploader.ts";
import type { UploadEvent } from "../../src/moments/outbox/uploader-ports.ts";
import { keyPrefix } from "../../src/moments/s3/object-key.ts";
import { resolveS3Options, type S3Credentials } from "../../src/moments/s3/options.ts";
import type { S3Port } from "../../src/moments/s3/s3-port.ts";
import { SdkS3Port } from "../../src/moments/s3/sdk-port.ts";
import { MemoryPackages } from "../support/s3/memory-packages.ts";
import { S3Server } from "../support/s3/s3-server.ts";
import { type SamplePackage, samplePackage } from "../support/s3/sample-package.ts";

interface RealServer {
  readonly name: string;
  readonly program: string;
  readonly script: string;
  readonly ports: number;
  readonly credentials: S3Credentials;
}

const servers: readonly RealServer[] = [
  {
    ...{ name: "Ceph RGW", program: "radosgw", script: "start-ceph-rgw.sh", ports: 2 },
    credentials: { accessKeyId: "test", secretAccessKey: "testsecret" },
  },
  {
    ...{ name: "Swift", program: "swift-proxy-server", script: "start-swift.sh", ports: 1 },
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
  const port = new SdkS3Port(resolveS3Options(options), { timers: systemTimers });
  const machine = new Machine(home, options);
  try {
    const missing = new Machine(home, { ...options, bucket: "nowhere", createBucket: false });
    const first = samplePackage({ number: 0, frames: 5 });
    await missing.save(first);
    assert.equal(missing.uploader.target.error?.code, "NoSuchBucket");
    await missing.uploader.close();

    await machine.start();
    await machine.save(first);
    assert.deepEqual(
      machine.events.map(({ type }) => type),
      ["bucket_made", "uploaded"],
    );
    await assertWhole(port, first);

    const wrong = { ...credentials, secretAccessKey: "wrong" };
    const stranger = new Machine(home, { ...options, credentials: wrong });
    await stranger.save(samplePackage({ number: 1 }));
    assert.equal(stranger.uploader.target.error?.class, "refused");
    await stranger.uploader.close();

    // Two of the objects are there, as a process leaves them that died.
    const second = samplePackage({ number: 2, frames: 5 });
    const prefix = keyPrefix(second.sessionId, second.name);
    for (const { path, sha256, media_type: contentType } of second.manifest.files.slice(0, 2)) {
      const body = second.files.get(path) ?? Buffer.alloc(0);
      const object = { key: prefix + path, body, contentType, sha256 };
      await port.put({ ...object, checksum: "sha256", onlyIfAbsent: false }, signal);
    }
    await machine.save(second);
    await assertWhole(port, second);

    const third = samplePackage({ number: 3 });
    const key = `${keyPrefix(third.sessionId, third.name)}feedback.json`;
    const theirs = { key, body: Buffer.from("theirs"), contentType: "text/plain" };
    const digest = { sha256: "0".repeat(64), checksum: "md5", onlyIfAbsent: false } as const;
    await port.put({ ...theirs, ...digest }, signal);
    await machine.save(third);
    assert.equal(machine.uploader.statistics().last_error?.class, "conflict");
    assert.equal((await port.get(key, signal))?.toString(), "theirs");

    const retraction = { at: 1.5, by: null, reason: "a mistake", superseded_by: null };
    await machine.uploader.owed.retracted?.(
      second.name,
      [{ bucket: "moments", prefix }],
      retraction,
    );
    await machine.uploader.idle();
    const retracted = await port.get(`${prefix}retracted.json`, signal);
    assert.deepEqual(JSON.parse(retracted?.toString() ?? ""), retraction);

    const { name, sessionId: session_id } = second;
    const gone = { name, session_id, consent: { upload: true } };
    await machine.uploader.owed.forgotten(gone, [{ bucket: "moments", prefix }]);
    await machine.uploader.idle();
    assert.deepEqual((await port.list(prefix, undefined, signal)).objects, []);
    await assertWhole(port, first);

    // What nobody here knows the place of is found by its name, and an unfinished upload told from a package.
    const { remote } = machine.uploader;
    assert.equal(await remote.retract(second.name, { by: null, reason: null }), false);
    assert.equal(await remote.retract(first.name, { by: null, reason: "a mistake" }), true);
    await machine.uploader.idle();
    const there = keyPrefix(first.sessionId, first.name);
    const mark = await port.get(`${there}retracted.json`, signal);
    assert.equal(JSON.parse(mark?.toString() ?? "").reason, "a mistake");
    const cut = keyPrefix("another-run", samplePackage({ number: 4 }).name);
    const words = { body: Buffer.from("[]"), contentType: "application/json", ...digest };
    await port.put({ ...words, key: `${cut}messages.json` }, signal);
    const { objects } = await port.list(cut, undefined, signal);
    const ageMs = Date.now() - (objects[0]?.modifiedMs ?? 0);
    assert.ok(Math.abs(ageMs) < 600_000, `stored ${ageMs} ms ago`);
    assert.deepEqual(await remote.sweep(), { copies: [], isWhole: true });
    const { copies, isWhole } = await remote.forget({ name: first.name });
    assert.deepEqual([copies.length, isWhole], [1, true]);
    await machine.uploader.idle();
    assert.deepEqual((await port.list(there, undefined, signal)).objects, []);
  } finally {
    await machine.uploader.close();
    port.close();
    await rm(home, { recursive: true });
  }
}

/** One machine with its outbox on the real disk. */
class Machine {
  readonly packages = new MemoryPackages();
  readonly events: UploadEvent[] = [];
  readonly uploader: Uploader;

  constructor(home: string, options: Parameters<typeof resolveS3Options>[0]) {
    const target = resolveS3Options(options);
    const report = () => undefined;
    const outboxPorts = {
      disk: realDisk,
      newId: randomId,
      unsyncedNames: new Set<string>(),
      report,
    };
    const folder = join(home, options.bucket, String(options.credentials === undefined));
    this.uploader = new Uploader(
      { ...target, keepLocal: true },
      {
        ...{ outbox: new Outbox(outboxPorts, folder), packages: this.packages },
        ...{ clock: systemClock, timers: systemTimers, jitter: systemJitter, logger: silentLogger },
        connect: (bucket): S3Port => new SdkS3Port({ ...target, bucket }, { timers: systemTimers }),
      },
    );
    this.uploader.onEvent((event) => this.events.push(event));
  }

  start(): Promise<void> {
    return this.uploader.start();
  }

  async save(sample: SamplePackage): Promise<void> {
    const { name, sessionId: session_id } = sample;
    await this.uploader.owed.saving({ name, session_id, consent: { upload: true } });
    this.packages.add(sample);
    await this.uploader.owed.saved(name);
    await this.uploader.idle();
  }
}

async function assertWhole(port: S3Port, { files, name, sessionId }: SamplePackage): Promise<void> {
  for (const [path, bytes] of files) {
    const found = await port.get(keyPrefix(sessionId, name) + path, signal);
    assert.ok(found?.equals(bytes), path);
  }
}

async function withServer(
  { script, ports, credentials }: RealServer,
  use: (endpoint: string, credentials: S3Credentials) => Promise<void>,
): Promise<void> {
  // A cluster that does not come up is begun anew: a fresh Ceph hangs now and then.
  for (let attempt = 1; ; attempt++) {
    const directory = await mkdtemp(join(tmpdir(), "throughline-server-"));
    try {
      await mkdir(join(directory, "data"));
      const free = await freePorts(ports);
      const args = [join(directory, "data"), ...free.map(String)];
      const problem = await run(script, args, join(directory, "log"));
      if (problem === undefined) {
        return await use(`http://127.0.0.1:${free.at(-1)}`, credentials);
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

async function freePorts(count: number): Promise<readonly number[]> {
  const found: number[] = [];
  while (found.length < count) {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const address = server.address();
    if (typeof address === "object" && address !== null) found.push(address.port);
    await new Promise((resolve) => server.close(resolve));
  }
  return found;
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

// Many entries, and a process that dies anywhere between them.
import assert from "node:assert/strict";
import { test } from "node:test";
import { processDeathImage } from "../../../test/support/crash-images.ts";
import { HeldClock } from "../../../test/support/held-clock.ts";
import { MemoryPackages } from "../../../test/support/s3/memory-packages.ts";
import { S3Server } from "../../../test/support/s3/s3-server.ts";
import { samplePackage } from "../../../test/support/s3/sample-package.ts";
import { UploadWorld } from "../../../test/support/s3/upload-world.ts";
import { SimulatedDisk } from "../../../test/support/simulated-disk.ts";
import { silentLogger } from "../../core/logger.ts";
import type { Disk } from "../../core/storage/disk/disk.ts";
import { keyPrefix } from "../s3/object-key.ts";
import { loadOwed } from "./load-owed.ts";
import { Outbox } from "./outbox.ts";
import { encodeEntry, type OwedEntry } from "./owed-entry.ts";
import { OwedList } from "./owed-list.ts";

const isFull = process.env["THROUGHLINE_FULL"] === "1";
const many = isFull ? 10_000 : 300;

async function diskWith(count: number): Promise<SimulatedDisk> {
  const disk = new SimulatedDisk();
  await disk.mkdir("/home");
  await disk.mkdir("/home/outbox");
  for (let number = 0; number < count; number++) {
    const stamp = new Date(Date.parse("2026-01-01T00:00:00Z") + number * 60_000).toISOString();
    const id = number.toString(16).padStart(12, "0");
    const name = `${stamp.slice(0, 19).replaceAll(":", "-")}_positive_fb_${id}`;
    const entry: OwedEntry = {
      ...{ v: 1, kind: "package", name, state: "pending", attempts: 0, first_at: 1, next_at: 1 },
      target: { bucket: "moments", region: "us-east-1", endpoint: null },
      ...{ prefix: keyPrefix("s", name), sent_through: 0, keep_local: true, last_error: null },
    };
    const file = await disk.open(`/home/outbox/${name}.json`, "create");
    await file.write(encodeEntry(entry), 0);
    await file.close();
  }
  return disk;
}

/** Counts the files that are open, at most at once and now. */
function counting(disk: Disk) {
  const open = { now: 0, most: 0, all: 0 };
  const counted: Disk = {
    ...{ mkdir: (path) => disk.mkdir(path), list: (path) => disk.list(path) },
    ...{ size: (path) => disk.size(path), rename: (from, to) => disk.rename(from, to) },
    ...{ link: (from, to) => disk.link(from, to), unlink: (path) => disk.unlink(path) },
    ...{ rmdir: (path) => disk.rmdir(path), syncDirectory: (path) => disk.syncDirectory(path) },
    async open(path, how) {
      const file = await disk.open(path, how);
      open.now++;
      open.all++;
      open.most = Math.max(open.most, open.now);
      return {
        ...{ read: (into, at) => file.read(into, at), write: (bytes, at) => file.write(bytes, at) },
        ...{ size: () => file.size(), truncate: (size) => file.truncate(size) },
        extend: (from, size) => file.extend(from, size),
        placeAt: (where) => file.placeAt(where),
        sync: () => file.sync(),
        close() {
          open.now--;
          return file.close();
        },
      };
    },
  };
  return { disk: counted, open };
}

test(`${many} owed packages: the start reads names alone, then entries 64 at a time, oldest first`, async () => {
  const { disk, open } = counting(await diskWith(many));
  const report = () => assert.fail("nothing is damaged");
  const outbox = new Outbox({ disk, newId: () => "x", unsyncedNames: new Set(), report }, "/home");
  const list = new OwedList();
  const ids = await outbox.list();
  for (const id of ids) list.add(id);
  assert.equal(open.all, 0, "no entry was opened");
  assert.equal(ids.length, many);
  const clock = new HeldClock();
  const again = () => assert.fail("nothing is damaged");
  const ports = { outbox, packages: new MemoryPackages(), clock, logger: silentLogger, again };
  await loadOwed(list, ports);
  assert.equal(open.all, 64);
  assert.ok(open.most <= 64);
  assert.equal(list.next(clock.monotonic())?.id, ids[0]);
  assert.deepEqual(
    ids.filter((id) => list.get(id)?.state === "pending"),
    ids.slice(0, 64),
  );
  while (list.unread(1).length > 0) await loadOwed(list, ports);
  assert.equal(open.all, many);
  assert.ok(open.most <= 64);
});

test(`${many} owed packages and a server that is away: an hour costs fewer than 60 requests, and all stay owed`, async () => {
  const { disk } = counting(await diskWith(many));
  await using world = await UploadWorld.open({ disk });
  world.server.fail({ times: Number.POSITIVE_INFINITY, does: { kind: "reset" } });
  world.packages.has = async () => true;
  await world.uploader.start();
  assert.equal(world.uploader.statistics().pending, many);
  await world.time.pass(3_600_000);
  assert.equal(world.uploader.statistics().pending, many);
  assert.ok(world.server.faults.met < 60, `${world.server.faults.met}`);
});

test("a process killed at any disk call of saving, uploading, retracting and deleting: nothing is lost, nothing doubled", async () => {
  const step = isFull ? 1 : 11;
  let points = 0;
  for (let stopAt = 2; ; stopAt += step) {
    const disk = new SimulatedDisk({ stopAt });
    await disk.mkdir("/home");
    const packages = new MemoryPackages();
    await using server = await S3Server.start();
    const [kept, gone] = [samplePackage({ number: 0 }), samplePackage({ number: 1 })];
    const copy = { bucket: "moments", prefix: keyPrefix(gone.sessionId, gone.name) };
    const done = { saved: false, forgotten: false };
    const before = await UploadWorld.open({ at: server, disk, packages });
    const ended = await disk.run(async () => {
      await before.uploader.start();
      await before.save(gone);
      await before.save(kept);
      done.saved = true;
      await before.untilNothingPends();
      const { name, sessionId: session_id } = gone;
      await before.uploader.owed.forgotten({ name, session_id, consent: { upload: true } }, [copy]);
      packages.packages.delete(name);
      done.forgotten = true;
      await before.untilNothingPends();
    });
    if (!ended) {
      // Once the next process has begun, the one that died sends nothing any more.
      const image = processDeathImage(disk);
      await using next = await UploadWorld.open({ at: server, disk: image, packages });
      await next.uploader.start();
      assert.ok(await next.untilNothingPends(), `operation ${stopAt}`);
    } else await before.close();
    const keys = Array.from(server.objects().keys());
    const has = (name: string) => keys.some((key) => key.includes(name));
    if (done.saved) assert.ok(has(kept.name), `operation ${stopAt}`);
    if (done.forgotten) assert.ok(!has(gone.name), `operation ${stopAt}`);
    assert.deepEqual(server.journal.brokenInstants, [], `operation ${stopAt}`);
    points++;
    if (ended) break;
  }
  assert.ok(points >= (isFull ? 60 : 6), `${points}`);
});

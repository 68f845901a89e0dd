import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { parquetMetadata } from "hyparquet";
import {
  parquetBytes,
  parquetRows,
  tarMembers,
} from "../../../test/support/feedback-export-files.ts";
import { filesUnder } from "../../../test/support/feedback-packages.ts";
import { SimulatedDisk } from "../../../test/support/simulated-disk.ts";
import { OutFolder } from "./out-folder.ts";
import { ParquetShards, type VisionRecord } from "./parquet-shards.ts";
import type { ExportDisk } from "./ports.ts";
import { TarShards } from "./tar-shards.ts";

async function written(write: (folder: OutFolder) => Promise<void>) {
  const disk = new SimulatedDisk();
  const folder = await OutFolder.begin(disk, "/out", false);
  await write(folder);
  const hashed = folder.files;
  await folder.commit();
  const files = await filesUnder(disk, "/out");
  assert.ok(files !== undefined);
  assert.deepEqual(
    hashed.map(({ path }) => path),
    [...files.keys()],
  );
  return files;
}

function record(n: number, imageBytes: number): VisionRecord {
  const bytes = new Uint8Array(imageBytes).fill(n);
  const content = [{ type: "text", text: `row ${n}` }] as const;
  return {
    id: String(n),
    prompt: [{ role: "user", content }],
    label: n % 2 === 0,
    completion: [{ role: "assistant", content }],
    images: [{ bytes, path: `${n}.jpg` }],
  };
}

describe("Parquet shards", () => {
  const rows = Array.from({ length: 11 }, (_, n) => record(n, 1_000));
  const shards = (rowsPerGroup: number, bytesPerGroup: number, bytesPerShard: number) =>
    written(async (folder) => {
      const out = new ParquetShards(folder, { rowsPerGroup, bytesPerGroup, bytesPerShard });
      for (const row of rows) await out.add(row);
      await out.finish();
    });
  const groups = (bytes: Buffer | undefined) =>
    parquetMetadata(parquetBytes(bytes)).row_groups.map(({ num_rows }) => Number(num_rows));

  for (const [rowsPerGroup, bytesPerGroup, sizes] of [
    [4, 1_000_000, [4, 4, 3]],
    [100, 3_500, [3, 3, 3, 2]],
    [100, 10, [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]],
    [100, 1_000_000, [11]],
  ] as const) {
    test(`of at most ${rowsPerGroup} rows and ${bytesPerGroup} bytes a group have groups of ${sizes}`, async () => {
      const files = await shards(rowsPerGroup, bytesPerGroup, 1_000_000);
      assert.deepEqual([...files.keys()], ["train-00000-of-00001.parquet"]);
      assert.deepEqual(groups(files.get("train-00000-of-00001.parquet")), sizes);
    });
  }

  test("begin again before a group that would not fit, and hold every row once, in order", async () => {
    const files = await shards(2, 1_000_000, 6_000);
    assert.deepEqual(
      [...files.keys()],
      [0, 1, 2].map((n) => `train-0000${n}-of-00003.parquet`),
    );
    const read = await Promise.all([...files.values()].map(parquetRows));
    assert.deepEqual(read.flat(), rows);
    for (const bytes of files.values()) {
      const { key_value_metadata } = parquetMetadata(parquetBytes(bytes));
      assert.deepEqual(
        key_value_metadata?.map(({ key }) => key),
        ["huggingface"],
      );
    }
  });
});

describe("tar shards", () => {
  test("begin again before members that would not fit, and never part a group", async () => {
    const files = await written(async (folder) => {
      const out = new TarShards(folder, 8_000);
      for (let n = 0; n < 5; n++) {
        const bytes = new Uint8Array(1_000).fill(n);
        await out.add([
          { name: `${n}.a`, bytes },
          { name: `${n}.b`, bytes },
        ]);
      }
      await out.finish();
    });
    const found = await Promise.all([...files.values()].map(tarMembers));
    assert.deepEqual(
      found.map((members) => [...members.keys()].join(" ")),
      ["0.a 0.b 1.a 1.b", "2.a 2.b 3.a 3.b", "4.a 4.b"],
    );
    for (const members of found)
      for (const bytes of members.values()) assert.equal(bytes.length, 1_000);
  });

  test("hold what members were when they were added, whatever their memory holds afterwards", async () => {
    const disk = new SimulatedDisk();
    const slow: ExportDisk = {
      mkdir: (path) => disk.mkdir(path),
      list: (path) => disk.list(path),
      rename: (from, to) => disk.rename(from, to),
      unlink: (path) => disk.unlink(path),
      rmdir: (path) => disk.rmdir(path),
      syncDirectory: (path) => disk.syncDirectory(path),
      async open(path, how) {
        const file = await disk.open(path, how);
        return {
          async write(bytes, position) {
            await setTimeout(5);
            return file.write(bytes, position);
          },
          sync: () => file.sync(),
          close: () => file.close(),
        };
      },
    };
    const folder = await OutFolder.begin(slow, "/out", false);
    const out = new TarShards(folder, 100_000_000);
    const memory = new Uint8Array(1_100_000);
    for (const n of [1, 2, 3]) {
      memory.fill(n);
      const last = memory.subarray(1_099_000);
      await out.add([
        { name: `${n}.a`, bytes: memory.subarray(0, 1_048_000) },
        { name: `${n}.b`, bytes: [last.subarray(0, 400), last.subarray(400)] },
      ]);
    }
    memory.fill(9);
    await out.finish();
    await folder.commit();
    const found = await tarMembers((await filesUnder(disk, "/out"))?.get("shard-000000.tar"));
    for (const [name, bytes] of found) {
      assert.ok(
        bytes.every((byte) => byte === Number(name[0])),
        name,
      );
    }
    assert.equal(found.size, 6);
  });

  test("with a name that needs more than a header are no tar: the memory of its group was counted wrong", async () => {
    const folder = await OutFolder.begin(new SimulatedDisk(), "/out", false);
    const out = new TarShards(folder, 100_000);
    await out.add([{ name: "n".repeat(200), bytes: new Uint8Array(10) }]);
    await assert.rejects(out.finish(), /another size/);
    await folder.discard();
  });

  test("hold a group that is larger than a shard in one of its own", async () => {
    const files = await written(async (folder) => {
      const out = new TarShards(folder, 100);
      for (const name of ["a", "b"]) await out.add([{ name, bytes: new Uint8Array(5_000) }]);
      await out.finish();
    });
    assert.deepEqual([...files.keys()], ["shard-000000.tar", "shard-000001.tar"]);
  });
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { unpackTar } from "modern-tar";
import { mediaTar, tarBytesOf } from "./media-tar.ts";

function part(path: string, bytes: Uint8Array) {
  return async () => ({ path, bytes });
}

const files = [0, 1, 511, 512, 513, 70_000].map((length) => {
  const bytes = Uint8Array.from({ length }, (_, at) => at * 7);
  return { path: `frames/${String(length).padStart(6, "0")}.jpg`, bytes };
});

test("another reader of tar finds every file of 0 to 70,000 bytes as it was, in one folder", async () => {
  const parts = files.map(({ path, bytes }) => part(path, bytes));
  const written = Buffer.concat(
    await Array.fromAsync(mediaTar("a_moment", parts, (error) => assert.fail(String(error)))),
  );
  assert.equal(written.length, tarBytesOf(files.map(({ bytes }) => bytes.length)));
  const read = await unpackTar(written);
  assert.deepEqual(
    read.map(({ header, data }) => [header.name, header.size, Buffer.from(data ?? [])]),
    files.map(({ path, bytes }) => [`a_moment/${path}`, bytes.length, Buffer.from(bytes)]),
  );
});

test("what breaks off is told, and ends in an error", async () => {
  const errors: unknown[] = [];
  const broken = new Error("the disk refused");
  const parts = [part("a", new Uint8Array(4)), () => Promise.reject(broken)];
  const read = Array.fromAsync(mediaTar("m", parts, (error) => errors.push(error)));
  await assert.rejects(read, broken);
  assert.deepEqual(errors, [broken]);
});

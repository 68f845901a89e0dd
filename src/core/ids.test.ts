import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { fillWithRandom, randomId } from "./ids.ts";

test("ids are 18 letters and digits, each as likely as each other, and none comes twice", () => {
  const ids = Array.from({ length: 20_000 }, randomId);
  for (const id of ids) assert.match(id, /^[0-9a-z]{18}$/);
  assert.equal(new Set(ids).size, ids.length);
  const counts = new Map<string, number>();
  for (const letter of ids.join("")) counts.set(letter, (counts.get(letter) ?? 0) + 1);
  assert.equal(counts.size, 36);
  // 10,000 of each are expected; by chance one in 10^7 such tests is off by six deviations.
  for (const [letter, count] of counts) assert.ok(Math.abs(count - 10_000) < 600, letter);
});

test("random bytes of any length fill all of it, and none are given twice", () => {
  const seen = new Set<string>();
  for (const length of [4_096, 1, 4_096, 16, 2_050, 2_050, 8, 4_090, 10, 10]) {
    const bytes = new Uint8Array(length);
    fillWithRandom(bytes);
    for (let at = 0; at + 8 <= length; at += 8) {
      const word = Buffer.from(bytes.subarray(at, at + 8)).toString("hex");
      assert.ok(!seen.has(word));
      assert.notEqual(word, "0".repeat(16));
      seen.add(word);
    }
  }
  assert.throws(() => fillWithRandom(new Uint8Array(4_097)), RangeError);
});

test("neither importing the main entry point nor an id loads Node's cryptography or compression, which take 2 ms or more each", () => {
  const [main, ids] = ["../index.ts", "./ids.ts"].map((path) => {
    return JSON.stringify(new URL(path, import.meta.url).href);
  });
  const input = `await import(${main}); (await import(${ids})).randomId();
    console.log(process.moduleLoadList.some((name) => /^NativeModule (crypto|internal.crypto.random|zlib)$/.test(name)))`;
  const { stdout } = spawnSync(process.execPath, ["--input-type=module"], { input });
  assert.equal(String(stdout), "false\n");
});

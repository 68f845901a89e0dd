import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom } from "../../src/testing/random.ts";
import { FileNode } from "./file-node.ts";
import { type DataVariant, type Fate, UnsyncedData } from "./unsynced-data.ts";

/** A file with a durable text, and writes and truncates that nothing has synced. */
function fileWith(durable: string, ...changes: (readonly [number, string] | number)[]): FileNode {
  const file = new FileNode(Buffer.from(durable));
  for (const change of changes) {
    if (typeof change === "number") file.truncate(change);
    else file.write(Buffer.from(change[1]), change[0]);
  }
  return file;
}

/** Old bytes are `o`, new ones `n`, NUL is `0` and anything else garbage, `?`. */
function picture({ content }: DataVariant): string {
  const text = Buffer.from(content).toString("latin1");
  return text.replaceAll(/[^on\0]/g, "?").replaceAll("\0", "0");
}

/** Garbage made of bytes that a picture shows as garbage. */
function pictures(file: FileNode, take: (data: UnsyncedData) => readonly DataVariant[]) {
  return take(new UnsyncedData(file, 3)).map(picture);
}

const fates: readonly Fate[] = ["kept", "lost", "zeroed", "garbage"];

const wholes: readonly (readonly [string, FileNode, readonly string[]])[] = [
  ["an append", fileWith("oo", [2, "nnn"]), ["oonnn", "oo", "oo000", "oo???"]],
  ["a write over the middle", fileWith("oooo", [1, "nn"]), ["onno", "oooo", "o00o", "o??o"]],
  ["a write beyond the end", fileWith("o", [3, "n"]), ["o00n", "o", "o000", "o???"]],
  ["two writes apart", fileWith("ooooo", [0, "n"], [4, "n"]), ["nooon", "ooooo", "0ooo0", "?ooo?"]],
  ["a cut", fileWith("oooo", 1), ["o", "oooo", "o", "o"]],
  ["an extension", fileWith("o", 3), ["o00", "o", "o00", "o??"]],
  ["a cut and an append", fileWith("oooo", 1, [1, "nn"]), ["onn", "oooo", "o00", "o??"]],
];
for (const [what, file, expected] of wholes) {
  test(`${what} that is kept, lost, zeroed or garbage gives ${expected.join(", ")}`, () => {
    assert.deepEqual(
      pictures(file, (data) => fates.map((fate) => data.whole(fate))),
      expected,
    );
  });
}

const tears: readonly (readonly [string, FileNode, readonly string[]])[] = [
  [
    "an append of 6 bytes after 2, torn at 4",
    fileWith("oo", [2, "nnnnnn"]),
    ["oonn", "oonn0000", "oo00nnnn", "oonn????", "oo00nnnn", "oonn0000", "oo??nnnn", "oonn0000"],
  ],
  [
    "a write over bytes 2 to 6 of 8, torn at 4",
    fileWith("oooooooo", [2, "nnnn"]),
    [
      "oonnoooo",
      "oonnoooo",
      "oo00nnoo",
      "oonn??oo",
      "oooonnoo",
      "oonn00oo",
      "oo??nnoo",
      "oonn00oo",
    ],
  ],
];
for (const [what, file, expected] of tears) {
  test(`${what} gives ${[...new Set(expected)].join(", ")}`, () => {
    assert.deepEqual(
      pictures(file, (data) => data.tears([4], seededRandom(1)).map((tear) => data.torn(tear))),
      expected,
    );
  });
}

test("a hole is one sector wide, with new bytes on both sides", () => {
  const file = fileWith("", [0, "nnnnnnnnnnnn"]);
  const holes = pictures(file, (data) =>
    data
      .tears([4], seededRandom(1))
      .filter(({ side }) => side === "sector")
      .map((tear) => data.torn(tear)),
  );
  assert.deepEqual(holes, ["nnnn0000nnnn", "nnnnnnnn0000"]);
});

test("the contents between the changes, the first and the last left out, are the prefixes", () => {
  const file = fileWith("oo", [2, "nn"], 1, [1, "nnnn"]);
  assert.deepEqual(
    pictures(file, (data) => data.prefixes()),
    ["oonn", "o"],
  );
});

test("of the sectors of one size at most 64 are torn, chosen by the seed", () => {
  const data = new UnsyncedData(fileWith("", [0, "n".repeat(100 * 64)]), 1);
  const placesFor = (seed: number) =>
    new Set(data.tears([64], seededRandom(seed)).map(({ at }) => at));
  assert.equal(placesFor(1).size, 64);
  assert.deepEqual(placesFor(1), placesFor(1));
  assert.notDeepEqual(placesFor(1), placesFor(2));
});

test("a mixture takes each sector from some version, never bytes that nobody touched", () => {
  const file = fileWith("oooooooooooo", [1, "nnnnnnnnnn"]);
  const data = new UnsyncedData(file, 3);
  const random = seededRandom(1);
  const seen = new Set(Array.from({ length: 6000 }, () => picture(data.mixed([4], random))));
  for (const one of seen)
    assert.match(one, /^o(nnn|ooo|000|\?{3})(n{4}|o{4}|0{4}|\?{4})(nnn|ooo|000|\?{3})o$/);
  assert.equal(seen.size, 4 ** 3, "every combination of 4 fates on 3 sectors");
});

test("equal contents have equal ids, other contents others", () => {
  const data = new UnsyncedData(fileWith("oo", [0, "nn"]), 1);
  const ids = fates.map((fate) => data.whole(fate).id);
  assert.equal(new Set(ids).size, 4);
  assert.deepEqual(
    fates.map((fate) => data.whole(fate).id),
    ids,
  );
  const cut = new UnsyncedData(fileWith("oooo", 2), 1);
  assert.equal(cut.whole("kept").id, cut.whole("garbage").id);
  assert.notEqual(cut.whole("kept").id, cut.whole("lost").id);
});

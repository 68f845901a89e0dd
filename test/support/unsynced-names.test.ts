import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom } from "../../src/testing/random.ts";
import { NameTree } from "./name-tree.ts";
import { type NameState, UnsyncedNames } from "./unsynced-names.ts";

function treeOf(...paths: readonly string[]): NameTree {
  const tree = new NameTree();
  for (const path of paths) {
    if (path.endsWith("/")) tree.mkdir(path);
    else tree.create(path);
  }
  return tree;
}

function pathsIn(state: NameState): string {
  return [...state.files.values()].sort().join(" ");
}

test("the systematic states begin with all names, then none, then each prefix", () => {
  const names = ["/a", "/b", "/c", "/d", "/e", "/f", "/g"];
  const states = new UnsyncedNames(treeOf(...names)).systematic();
  const prefixes = names.map((_, count) => names.slice(0, count).join(" "));
  assert.deepEqual(states.map(pathsIn), [names.join(" "), ...prefixes]);
});

for (let count = 0; count <= 5; count++) {
  test(`${count} names made apart from each other have ${2 ** count} systematic states`, () => {
    const names = ["/a", "/b", "/c", "/d", "/e"].slice(0, count);
    const states = new UnsyncedNames(treeOf(...names)).systematic();
    assert.equal(new Set(states.map(pathsIn)).size, 2 ** count);
    assert.equal(states.length, 2 ** count);
    assert.equal(new Set(states.map(({ key }) => key)).size, 2 ** count);
  });
}

test("a file in a directory whose name is lost has no path, and the two share a key with none", () => {
  const tree = treeOf("/d/", "/d/a");
  const states = new UnsyncedNames(tree).systematic();
  const seen = states.map((state) => [pathsIn(state), state.key === ""]);
  assert.deepEqual(seen, [
    ["/d/a", false],
    ["", true], // none
    ["", false], // the directory alone
    ["", true], // the file alone, in a directory that nothing leads to
  ]);
});

test("a rename is there wholly or not at all", () => {
  const tree = treeOf("/old");
  tree.sync(tree.root);
  tree.rename("/old", "/new");
  assert.deepEqual(new UnsyncedNames(tree).systematic().map(pathsIn), ["/new", "/old"]);
});

test("a mixture of names is one of the systematic states, and in time all of them", () => {
  const names = new UnsyncedNames(treeOf("/a", "/b", "/c"));
  const random = seededRandom(1);
  const mixed = new Set(Array.from({ length: 100 }, () => names.mixed(random)));
  assert.deepEqual(mixed, new Set(names.systematic()));
});

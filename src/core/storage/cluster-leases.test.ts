import assert from "node:assert/strict";
import { test } from "node:test";
import { LeaseRegistry } from "./cluster-leases.ts";
import { nameText } from "./leases.ts";

const name = { collection: "chats", key: "telegram:42" };

test("an epoch is that of the newest holder, until that one drops it", () => {
  const registry = new LeaseRegistry();
  assert.equal(registry.epochOf("chats", "telegram:42"), undefined);
  registry.hold(name, 7);
  registry.hold(name, 9);
  registry.drop(name, 7);
  assert.equal(registry.epochOf("chats", "telegram:42"), 9);
  assert.equal(registry.epochOf("runs", "telegram:42"), undefined);
  registry.drop(name, 9);
  assert.equal(registry.epochOf("chats", "telegram:42"), undefined);
});

test("a collection that ends as a key begins makes another name", () => {
  const names = [
    { collection: "a", key: "b:c" },
    { collection: "a:b", key: "c" },
    { collection: "", key: "a:b:c" },
    { collection: 'a"', key: ',"b' },
  ];
  assert.equal(new Set(names.map(nameText)).size, names.length);
});

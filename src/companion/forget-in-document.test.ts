// The document is changed while nobody keeps the companion, and another process writes it meanwhile.
import assert from "node:assert/strict";
import { test } from "node:test";
import { MemoryPlace, openMemoryProcess } from "../../test/support/memory-place.ts";
import { systemClock } from "../core/clock.ts";
import type { JsonObject } from "../core/json.ts";
import type { Storage } from "../core/storage/storage.ts";
import { forgetLeft } from "./forget-chat.ts";

const said = (role: string, text: string) => ({ role, text, timestamp: 1_772_366_400 });

/** A document that holds these messages, each with its chat. */
function documentOf(messages: readonly (readonly [chat: string, text: string])[]): JsonObject {
  return {
    version: 1,
    conversation: messages.map(([, text]) => said("USER", text)),
    throughline: { conversation_chats: messages.map(([chat]) => chat) },
  };
}

/** The document in a place, and a storage whose writes of it each come after one of another process. */
async function world(newer: readonly JsonObject[]) {
  const place = new MemoryPlace();
  const [mine, other] = [openMemoryProcess({ place }), openMemoryProcess({ place })];
  const documents = other.documents("session");
  await documents.write("session", documentOf([["gone", "secret 1"]]));
  const left = [...newer];
  const late: Storage = {
    leases: mine.leases,
    cluster: mine.cluster,
    repairs: () => [],
    onRepair: () => () => undefined,
    ready: () => mine.ready(),
    logs: (...args) => mine.logs(...args),
    documents: (collection) => {
      const inner = mine.documents(collection);
      return {
        read: (...args) => inner.read(...args),
        write: async (...args) => {
          const first = left.shift();
          if (first !== undefined) await documents.write("session", first);
          return inner.write(...args);
        },
        delete: (key) => inner.delete(key),
        forgetCopies: (key) => inner.forgetCopies(key),
        keys: () => inner.keys(),
      };
    },
    files: (collection) => mine.files(collection),
    close: () => mine.close(),
    [Symbol.asyncDispose]: () => mine.close(),
  };
  const stored = async () => (await documents.read("session"))?.value ?? {};
  return { late, stored };
}

for (const times of [1, 4]) {
  test(`a document that is written ${times} times while a chat is forgotten in it keeps what is new, without the chat`, async () => {
    const newest = documentOf([
      ["gone", "secret 1"],
      ["kept", "Hello"],
      ["gone", "secret 2"],
    ]);
    const { late, stored } = await world(Array.from({ length: times }, () => newest));
    assert.equal(await forgetLeft({ storage: late, clock: systemClock }, "gone"), 2);
    const document = await stored();
    assert.deepEqual(document["conversation"], [said("USER", "Hello")]);
    const { conversation_chats } = document["throughline"] as JsonObject;
    assert.deepEqual(conversation_chats, ["kept"]);
  });
}

test("a document that is written 100 times while a chat is forgotten in it is a conflict, and stays as it is", async () => {
  const newest = documentOf([["gone", "secret 2"]]);
  const { late, stored } = await world(Array.from({ length: 100 }, () => newest));
  await assert.rejects(forgetLeft({ storage: late, clock: systemClock }, "gone"), {
    code: "THROUGHLINE_CONFLICT",
  });
  assert.deepEqual(await stored(), newest);
  assert.equal(await forgetLeft({ storage: late, clock: systemClock }, "gone"), 1); // called again
  assert.deepEqual((await stored())["conversation"], []);
});

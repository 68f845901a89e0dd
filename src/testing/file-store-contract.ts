import assert from "node:assert/strict";
import { type FileStore, fileLimits, hashOf } from "../core/storage/file-store.ts";
import { unlisted } from "../core/storage/log-store.ts";
import type { Storage } from "../core/storage/storage.ts";
import { type Clause, type Contract, clauseWithTable } from "./contract.ts";
import { keyCorpus } from "./corpus.ts";
import { chat, message, refuses, upTo } from "./log-store-contract-fixtures.ts";

const filesOf = (storage: Storage, collection = "chats") => storage.files(collection);

/** A proof about one fresh collection of files. */
function withFiles(proof: (files: FileStore, storage: Storage) => Promise<void>): Clause["proof"] {
  return async (open) => {
    await using storage = await open();
    await proof(filesOf(storage), storage);
  };
}

const text = (content: string) => new TextEncoder().encode(content);

/** Asserts that a key has these files and no others, whole. */
async function has(files: FileStore, key: string, contents: readonly Uint8Array[]): Promise<void> {
  const expected = contents.map((bytes) => ({ sha256: hashOf(bytes), bytes: bytes.length }));
  const sorted = expected.sort((a, b) => (a.sha256 < b.sha256 ? -1 : 1));
  assert.deepEqual(await files.list(key), sorted);
  for (const bytes of contents) {
    assert.deepEqual(plain(await files.get(key, hashOf(bytes))), plain(bytes));
  }
  const keys = await Array.fromAsync(files.keys());
  assert.equal(keys.filter((each) => each === key).length, contents.length > 0 ? 1 : 0);
}

/** Also a `Buffer` as a plain array of bytes. */
const plain = (bytes: Uint8Array | undefined) => bytes && Uint8Array.from(bytes);

const contents: readonly { readonly name: string; readonly bytes: Uint8Array }[] = [
  { name: "no bytes", bytes: new Uint8Array() },
  { name: "one NUL", bytes: new Uint8Array(1) },
  { name: "all bytes", bytes: Uint8Array.from(upTo(256), (n) => n - 1) },
  { name: "a text with line ends", bytes: text("a\r\nb\n\\000\\x00") },
  { name: "a part of a larger buffer", bytes: text("before in after").subarray(7, 9) },
  { name: "1 MiB", bytes: new Uint8Array(1024 * 1024).fill(0x5a) },
];

const notHashes = [
  "",
  "0".repeat(63),
  "0".repeat(65),
  "A".repeat(64),
  `${"0".repeat(63)}g`,
  "../a",
];

const storing: readonly Clause[] = [
  clauseWithTable(
    "a file is answered by its SHA-256, listed with its size, and read back as it was",
    contents,
    ({ bytes }) =>
      withFiles(async (files) => {
        assert.equal(await files.put(chat, bytes), hashOf(bytes));
        await has(files, chat, [bytes]);
      }),
  ),
  {
    says: "keys that differ at all have files of their own, and each is listed once",
    proof: withFiles(async (files) => {
      for (const { name, text: key } of keyCorpus) await files.put(key, text(name));
      for (const { name, text: key } of keyCorpus) await has(files, key, [text(name)]);
      assert.equal((await Array.fromAsync(files.keys())).length, keyCorpus.length);
    }),
  },
  {
    says: "the same bytes again change nothing, also 20 times at once, and each answers the hash",
    proof: withFiles(async (files) => {
      const bytes = text("again");
      const answers = await Promise.all(upTo(20).map(() => files.put(chat, bytes)));
      assert.deepEqual([...new Set(answers)], [hashOf(bytes)]);
      await has(files, chat, [bytes]);
    }),
  },
  {
    says: "a file of 20 MiB is stored; one byte more, or what is no bytes, is refused and nothing stored",
    proof: withFiles(async (files) => {
      const largest = new Uint8Array(fileLimits.fileBytes);
      const hash = await files.put(chat, largest);
      assert.equal((await files.get(chat, hash))?.length, largest.length);
      await files.delete(chat);
      const larger = new Uint8Array(fileLimits.fileBytes + 1);
      await refuses("THROUGHLINE_TOO_LARGE", files.put(chat, larger));
      await refuses("THROUGHLINE_INVALID", files.put(chat, "text" as never));
      await refuses("THROUGHLINE_INVALID", files.put("", largest));
      await has(files, chat, []);
    }),
  },
  {
    says: "what is not there reads as undefined, lists as nothing and is deleted as 0 files",
    proof: withFiles(async (files) => {
      const hash = hashOf(text("none"));
      await files.put("other", text("none"));
      assert.equal(await files.get(chat, hash), undefined);
      assert.deepEqual(await files.list(chat), []);
      assert.equal(await files.delete(chat), 0);
      assert.equal(await files.delete(chat, [hash]), 0);
      await has(files, "other", [text("none")]);
    }),
  },
  {
    says: "what is no SHA-256 in lower case is refused",
    proof: withFiles(async (files) => {
      await files.put(chat, text("kept"));
      for (const hash of notHashes) {
        await refuses("THROUGHLINE_INVALID", files.get(chat, hash));
        await refuses("THROUGHLINE_INVALID", files.delete(chat, [hash]));
      }
      await has(files, chat, [text("kept")]);
    }),
  },
];

const deleting: readonly Clause[] = [
  clauseWithTable(
    "deleting removes the named files, or all, of that key and of no other, and answers how many",
    [
      { name: "one", hashes: [hashOf(text("one"))], removed: 1, left: ["two", "three"] },
      {
        name: "one twice, and one that is not there",
        hashes: ["one", "one", "none"].map((each) => hashOf(text(each))),
        removed: 1,
        left: ["two", "three"],
      },
      { name: "none", hashes: [], removed: 0, left: ["one", "two", "three"] },
      { name: "all", hashes: undefined, removed: 3, left: [] },
    ],
    ({ hashes, removed, left }) =>
      withFiles(async (files) => {
        for (const key of [chat, "telegram:4", "telegram:421"]) {
          for (const each of ["one", "two", "three"]) await files.put(key, text(each));
        }
        assert.equal(await files.delete(chat, hashes), removed);
        await has(files, chat, left.map(text));
        assert.equal(await files.delete(chat, hashes), 0);
        for (const key of ["telegram:4", "telegram:421"]) {
          await has(files, key, ["one", "two", "three"].map(text));
        }
        await files.put(chat, text("one"));
        await has(files, chat, [...new Set(["one", ...left])].map(text));
      }),
  ),
  {
    says: "a delete also removes what was put before it and not yet answered",
    proof: withFiles(async (files) => {
      const late = upTo(10).map((n) => files.put(chat, text(`late ${n}`)));
      await files.delete(chat);
      await Promise.all(late);
      await has(files, chat, []);
    }),
  },
  {
    says: "files, a log and a document with the same key do not disturb each other, nor do two collections",
    proof: withFiles(async (files, storage) => {
      const logs = storage.logs("chats", unlisted);
      const others = filesOf(storage, "others");
      await files.put(chat, text("kept"));
      await others.put(chat, text("other"));
      await logs.append(chat, [message("m1")]);
      await storage.documents("chats").write(chat, { a: 1 });
      await logs.delete(chat);
      await storage.documents("chats").delete(chat);
      await has(files, chat, [text("kept")]);
      await logs.append(chat, [message("m1")]);
      await files.delete(chat);
      assert.equal((await logs.tail(chat, 1))?.seq, 1);
      await has(others, chat, [text("other")]);
    }),
  },
];

const storages: readonly Clause[] = [
  {
    says: "after close every call rejects with THROUGHLINE_CLOSED",
    proof: async (open) => {
      const storage = await open();
      const files = filesOf(storage);
      await files.put(chat, text("kept"));
      await storage.close();
      const hash = hashOf(text("kept"));
      await refuses("THROUGHLINE_CLOSED", files.put(chat, text("late")));
      await refuses("THROUGHLINE_CLOSED", files.get(chat, hash));
      await refuses("THROUGHLINE_CLOSED", files.list(chat));
      await refuses("THROUGHLINE_CLOSED", files.delete(chat));
      await refuses("THROUGHLINE_CLOSED", Array.fromAsync(files.keys()));
    },
  },
  {
    says: "after reopening, every file is there that was, what was deleted is not, and a put under way is",
    reopens: true,
    async proof(open, reopen) {
      await using storage = await open();
      const files = filesOf(storage);
      for (const { bytes } of contents) await files.put("many", bytes);
      for (const { text: key } of keyCorpus) await files.put(key, text("kept"));
      await files.put("gone", text("gone"));
      await files.delete("gone");
      void files.put("late", text("late"));
      await using again = await reopen(storage);
      await has(
        filesOf(again),
        "many",
        contents.map(({ bytes }) => bytes),
      );
      for (const { text: key } of keyCorpus) await has(filesOf(again), key, [text("kept")]);
      await has(filesOf(again), "gone", []);
      await has(filesOf(again), "late", [text("late")]);
    },
  },
];

/** What every file store promises. */
export const fileStoreContract: Contract = {
  name: "file store",
  clauses: [...storing, ...deleting, ...storages],
};

// What is damaged or set aside is evidence: erasing nothing leaves it alone, erasing something says that it went.
import assert from "node:assert/strict";
import fs from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { openThroughline } from "../src/core/throughline.ts";
import { runCli, temporaryDirectory } from "./support/command-line.ts";

/** A chat with damage in its middle, an erased message, and a torn tail in quarantine. */
async function damagedChat(t: TestContext) {
  const home = join(temporaryDirectory(t), "home");
  const path = join(home, "chats", "a.jsonl");
  {
    await using throughline = await openThroughline({ home });
    for (const id of ["m1", "m2", "m3", "m4"]) {
      await throughline.chats.append("a", [{ id, role: "user", content: `words of ${id}` }]);
    }
    await throughline.chats.erase("a", "m4");
    await throughline.chats.append("a", [{ id: "m5", role: "user", content: "words of m5" }]);
    await throughline.chats.append("a", [{ id: "m6", role: "user", content: "words of m6" }]);
  }
  const bytes = fs.readFileSync(path);
  bytes.writeUInt8(0x21, bytes.indexOf("words of m5"));
  fs.writeFileSync(path, Buffer.concat([bytes, Buffer.from('{"id":"torn')]));
  const throughline = await openThroughline({ home });
  t.after(() => throughline.close());
  const { chats } = throughline;
  await Array.fromAsync(chats.records("a")); // which meets the damage, and sets the tail aside
  const evidence = () => ({
    inode: fs.statSync(path).ino,
    log: fs.readFileSync(path, "latin1"),
    quarantine: fs.readdirSync(join(home, "quarantine")).sort(),
  });
  // The bytes of the tail, its report, and that of the damage, which are written in the background.
  const isKept = (name: string) => !name.includes(".tmp-");
  while (evidence().quarantine.filter(isKept).length < 3) await setImmediate();
  return { chats, evidence, home, close: () => throughline.close() };
}

test("erasing a message that is not there, or is erased already, changes no byte of a damaged chat", async (t) => {
  const { chats, evidence } = await damagedChat(t);
  const before = evidence();
  for (let again = 0; again < 2; again++) {
    await assert.rejects(chats.erase("a", "unknown"), { code: "THROUGHLINE_NOT_FOUND" });
    assert.deepEqual(evidence(), before);
    await chats.erase("a", "m4");
    assert.deepEqual(evidence(), before);
  }
});

test("an erasure in a damaged chat says how many bytes that nobody could read went with it", async (t) => {
  const { chats, evidence, home, close } = await damagedChat(t);
  const { erased, removed } = await chats.erase("a", "m1");
  assert.equal(erased, true);
  const torn = '{"id":"torn'.length;
  const [damage] = removed.filter(({ place }) => place === "damaged_bytes");
  assert.ok(damage !== undefined && damage.count > torn + "words of m5".length, `${damage?.count}`);
  assert.deepEqual(evidence().quarantine, []);
  assert.doesNotMatch(evidence().log, /ords of m5/);
  const next = await chats.erase("a", "m2");
  const places = next.removed.map(({ place }) => place);
  assert.ok(!places.includes("damaged_bytes"), "nothing is damaged any more");
  await close();
  fs.appendFileSync(join(home, "chats", "a.jsonl"), '{"id":"torn');
  const { out } = await runCli(["sessions", "erase", "a", "m3"], { home });
  assert.match(out, /Also deleted: 11 bytes that could not be read/);
});

test("a journal of before a chat was forgotten does not bring it back; what was said in it since stays", async (t) => {
  const home = join(temporaryDirectory(t), "home");
  const journal = join(home, "journal");
  const kept = join(temporaryDirectory(t), "journal");
  const said = (content: string) => [{ id: content, role: "user", content }] as const;
  {
    await using throughline = await openThroughline({ home });
    for (const id of ["a", "b", "c"]) await throughline.chats.append(id, said(`secret of ${id}`));
    fs.cpSync(journal, kept, { recursive: true });
    await throughline.chats.forget("a");
    await throughline.chats.forget("b");
    await throughline.chats.append("b", said("new words"));
  }
  fs.rmSync(join(home, "chats", "c.jsonl")); // as after a power cut
  fs.rmSync(journal, { recursive: true });
  fs.cpSync(kept, journal, { recursive: true });
  await using throughline = await openThroughline({ home });
  const { chats } = await throughline.chats.list();
  assert.deepEqual(chats.map(({ chat_id }) => chat_id).sort(), ["b", "c"]);
  assert.deepEqual(await throughline.chats.search("secret of a"), []);
  assert.deepEqual(fs.readdirSync(join(home, "chats")).sort(), ["b.jsonl", "c.jsonl"]);
  const { messages } = await throughline.chats.messages("b");
  assert.deepEqual(
    messages.map(({ content }) => content),
    ["new words"],
  );
});

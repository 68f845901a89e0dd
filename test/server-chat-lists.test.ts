// Which chats a list has: with words, with a message that has no answer, with damage.
import assert from "node:assert/strict";
import fs, { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { openThroughline } from "../src/core/throughline.ts";
import { type Companion, companion } from "./support/server-fixture.ts";

const target = { provider: "scripted", model: "scripted" };

const folder = mkdtempSync(join(tmpdir(), "throughline-lists-"));

/** A chat that is damaged and waits for an answer, one of each, and one that is well. */
async function served(): Promise<Companion> {
  const home = join(folder, "home");
  const first = await openThroughline({ home, ...target });
  const { post } = await companion([], { throughline: first });
  for (const id of ["both", "broken", "waiting", "well"]) {
    for (const content of ["hello there", "and more"]) {
      await first.chats.append(id, [{ role: "user", content }]);
    }
    if (id === "well" || id === "broken") continue;
    const unanswered = await post(`/api/chats/${id}/messages`, { content: "Why?" });
    assert.equal(unanswered.status, 502);
  }
  await first.close();
  for (const id of ["both", "broken"]) damage(join(home, "chats"), id);
  const throughline = await openThroughline({ home, ...target });
  for (const id of ["both", "broken"]) await throughline.chats.messages(id);
  return companion([], { throughline });
}
const c = await served();
after(async () => {
  await c.throughline.close(); // reports of damage may still be written
  rmSync(folder, { recursive: true });
});

/** Flips a byte in the middle of a chat's log: what was said before and after it is still there. */
function damage(folder: string, id: string): void {
  const paths = fs.readdirSync(folder).map((name) => join(folder, name));
  const path = paths.find((each) => fs.readFileSync(each).includes(`"key":"${id}"`));
  assert.ok(path, id);
  const bytes = fs.readFileSync(path);
  bytes[bytes.indexOf("and more")]! ^= 1;
  fs.writeFileSync(path, bytes);
}

const rows: readonly (readonly [query: string, ids: readonly string[]])[] = [
  ["query=hello", ["both", "broken", "waiting", "well"]],
  ["query=hello&unanswered=false&damaged=false", ["both", "broken", "waiting", "well"]],
  ["query=hello&unanswered=true", ["both", "waiting"]],
  ["query=hello&damaged=true", ["both", "broken"]],
  ["query=hello&unanswered=true&damaged=true", ["both"]],
  ["query=nowhere&unanswered=true", []],
  ["unanswered=true", ["both", "waiting"]],
  ["damaged=true", ["both", "broken"]],
  ["unanswered=true&damaged=true", ["both"]],
];
test("a list of chats has those that it asks for", async () => {
  for (const [query, ids] of rows) {
    const { chats } = await c.get(`/api/chats?${query}`);
    assert.deepEqual(chats.map((row: { chat_id: string }) => row.chat_id).sort(), ids, query);
    for (const row of chats) assert.equal("match" in row, query.startsWith("query"));
  }
});

test("what a list passes over does not count for its limit", async () => {
  for (const only of ["unanswered=true", "damaged=true"]) {
    for (const query of ["", "query=hello&"]) {
      const all = await c.get(`/api/chats?${query}${only}`);
      const { chats } = await c.get(`/api/chats?${query}${only}&limit=1`);
      assert.deepEqual(chats, all.chats.slice(0, 1));
    }
  }
  const { chats } = await c.get("/api/chats?query=hello&unanswered=true&damaged=true&limit=1");
  assert.equal(chats[0].chat_id, "both");
});

// Which chats a list has: with words, with a message that has no answer, with damage.
import assert from "node:assert/strict";
import fs from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { openThroughline, type Throughline } from "../src/core/throughline.ts";
import { temporaryDirectory } from "./support/command-line.ts";
import { companion, problemOf } from "./support/server-fixture.ts";

const target = { provider: "scripted", model: "scripted" };

/** A chat that is damaged and waits for an answer, one of each, and one that is well. */
async function fourChats(t: TestContext) {
  let opened: Throughline | undefined;
  t.after(() => opened?.close()); // before its home is removed: reports of damage may still be written
  const home = join(temporaryDirectory(t), "home");
  const before = await openThroughline({ home, ...target });
  const { post } = await companion([], { throughline: before });
  for (const id of ["both", "broken", "waiting", "well"]) {
    for (const content of ["hello there", "and more"]) {
      await before.chats.append(id, [{ role: "user", content }]);
    }
    if (id === "well" || id === "broken") continue;
    const unanswered = await post(`/api/chats/${id}/messages`, { content: "Why?" });
    assert.equal(unanswered.status, 502);
  }
  await before.close();
  for (const id of ["both", "broken"]) damage(join(home, "chats"), id);
  const throughline = await openThroughline({ home, ...target });
  opened = throughline;
  for (const id of ["both", "broken"]) await throughline.chats.messages(id);
  return companion([], { throughline });
}

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
for (const [query, ids] of rows) {
  test(`a list of chats with ${query} has ${ids.join(", ") || "none"}`, async (t) => {
    const c = await fourChats(t);
    const { chats } = await c.get(`/api/chats?${query}`);
    assert.deepEqual(chats.map((row: { chat_id: string }) => row.chat_id).sort(), ids);
    for (const row of chats) assert.equal("match" in row, query.startsWith("query"));
  });
}

test("what a list passes over does not count for its limit", async (t) => {
  const c = await fourChats(t);
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

test("a list that has one page refuses a cursor", async () => {
  const c = await companion();
  const refused = await c.ask("/api/chats?damaged=true&cursor=abc");
  const { detail } = await problemOf(refused, 400, "THROUGHLINE_INVALID");
  assert.equal(detail, "a list with damaged chats has no cursor");
});

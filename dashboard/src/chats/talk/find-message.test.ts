// Method: the feed as it is, over a network of our own that has a chat of as many messages as a test says.
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { Message } from "../../api/openapi-types.ts";
import { Feed } from "./feed.ts";
import { findMessage } from "./find-message.ts";

interface Chat {
  readonly count: number;
  /** Those after it are left: the others were cleared. */
  readonly cleared?: number;
  readonly gone?: Partial<Message>;
  /** The pages that do not come. */
  readonly cut?: RegExp;
}

/** A chat in which a message is sought, and the pages that were asked for. */
function open(t: TestContext, { count, cleared = 0, gone = {}, cut }: Chat) {
  const asked: string[] = [];
  const { fetch } = globalThis;
  globalThis.fetch = async (path) => {
    const url = new URL(String(path), "http://host");
    if (url.pathname.endsWith("/turn")) return new Response(null, { status: 204 });
    asked.push(url.search.slice(1).replace("&if_exists=true", ""));
    if (cut?.test(url.search) === true) throw new TypeError("no network");
    const end = Number(url.searchParams.get("before") ?? count + 1);
    const first = Math.max(cleared + 1, end - Number(url.searchParams.get("limit")));
    const said = Array.from({ length: end - first }, (_, index): Message => {
      const seq = first + index;
      const said = { id: `m${seq}`, seq, role: "user", content: "words", timestamp: "" } as const;
      return seq === wanted.seq ? { ...said, ...gone } : said;
    });
    return Response.json({ messages: said, ...(first > cleared + 1 && { before: first }) });
  };
  const feed = new Feed("chat");
  t.after(() => {
    feed.end();
    globalThis.fetch = fetch;
  });
  return { feed, asked };
}

const wanted = { id: "m700", seq: 700 };
const newest = "limit=50";

for (const [says, chat, outcome, pages] of [
  ["well within the newest page", { count: 701, cleared: 660 }, "there", [newest]],
  ["near the top of the newest page", { count: 740 }, "there", [newest, "limit=41&before=691"]],
  ["hundreds up", { count: 1_400 }, "there", [newest, "limit=701&before=1351"]],
  [
    "thousands up",
    { count: 2_100 },
    "there",
    [newest, "limit=1000&before=2051", "limit=401&before=1051"],
  ],
  ["tens of thousands up", { count: 50_800 }, "far", [newest]],
  [
    "among what was cleared",
    { count: 800, cleared: 720 },
    "gone",
    [newest, "limit=101&before=751"],
  ],
  [
    "where it was removed",
    { count: 740, gone: { content: "", redacted: true } },
    "gone",
    [newest, "limit=41&before=691"],
  ],
  [
    "where another has its number",
    { count: 740, gone: { id: "other" } },
    "gone",
    [newest, "limit=41&before=691"],
  ],
  [
    "behind a page that does not come",
    { count: 1_400, cut: /before/ },
    "failed",
    [newest, "limit=701&before=1351"],
  ],
  [
    "below a page that does not come",
    { count: 740, cut: /before/ },
    "there",
    [newest, "limit=41&before=691"],
  ],
] as const) {
  test(`a message ${says} is ${outcome}, after ${pages.length} pages`, async (t) => {
    const { feed, asked } = open(t, chat);
    assert.equal(await findMessage(feed, wanted, new AbortController().signal), outcome);
    assert.deepEqual(asked, pages);
  });
}

test("a search that is given up reads no further", async (t) => {
  const { feed, asked } = open(t, { count: 1_400 });
  const leaving = new AbortController();
  const outcome = findMessage(feed, wanted, leaving.signal);
  leaving.abort();
  assert.equal(await outcome, undefined);
  assert.deepEqual(asked, [newest]);
});

// The list of packages over HTTP: filtered, and page by page.
import assert from "node:assert/strict";
import { cpSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import sharp from "sharp";
import { consentWording } from "../src/moments/record/consent.ts";
import * as schemas from "../src/moments/routes/answer-schemas.ts";
import { servedMoments } from "./support/served-moments.ts";
import { jsonOf, problemOf } from "./support/server-fixture.ts";

async function served() {
  const c = await servedMoments({ after }, [["Green"], ["Blue"]]);
  const { moments } = c;
  const react = async (sentiment: string, what: string, more: object = {}) =>
    jsonOf(await c.post("/api/feedback", { sentiment, what, ...more }), 201);
  await jsonOf(await c.say("Tea?"), 200);
  await react("positive", "Green tea");
  const correction = { text: "Say KETTLE", kind: "note" };
  const { name } = await react("negative", "blue", { correction });
  await jsonOf(await c.post(`/api/feedback/${name}/preserve`), 200);
  moments.recorder.agree({ messages: true, frames: true, audio: false, wording: consentWording });
  const size = { width: 64, height: 48, channels: 3, background: "teal" } as const;
  moments.recorder.frame(await sharp({ create: size }).jpeg().toBuffer());
  await jsonOf(await c.post("/api/chats/local%3Aother/messages", { content: "Sky?" }), 200);
  await react("positive", "Blue sky", { chat_id: "local:other", trigger: "Wow" });
  return c;
}
const c = await served();
const { home } = c;

const all = ["Blue sky", "Green tea", "blue"];

for (const [query, found] of [
  ["", all],
  ["sentiment=positive", ["Blue sky", "Green tea"]],
  ["sentiment=negative", ["blue"]],
  ["media=true", ["Blue sky"]],
  ["media=false", ["Green tea", "blue"]],
  ["preserved=true", ["blue"]],
  ["preserved=false", ["Blue sky", "Green tea"]],
  ["chat_id=local%3Aother", ["Blue sky"]],
  ["query=BLUE", ["Blue sky", "blue"]],
  ["query=kettle", ["blue"]],
  ["query=wow", ["Blue sky"]],
  ["query=blue&sentiment=positive", ["Blue sky"]],
  ["query=blue&sentiment=positive&media=false", []],
] as const) {
  test(`GET /api/feedback?${query} has ${JSON.stringify(found)}, on one page and on several`, async () => {
    const whole = schemas.packageList.parse(await c.get(`/api/feedback?${query}`));
    assert.deepEqual(whatOf(whole).sort(), found);
    assert.equal(whole.cursor, null);
    const pages: string[] = [];
    for (let cursor: string | null = ""; cursor !== null; ) {
      const from = cursor === "" ? "" : `&cursor=${cursor}`;
      const page = schemas.packageList.parse(
        await c.get(`/api/feedback?limit=1${query === "" ? "" : `&${query}`}${from}`),
      );
      assert.equal(page.packages.length <= 1, true);
      pages.push(...whatOf(page));
      cursor = page.cursor;
    }
    assert.deepEqual(pages.sort(), found);
  });
}

for (const query of ["media=yes", "sentiment=good", "query=", "colour=blue"]) {
  test(`GET /api/feedback?${query} is refused`, async () => {
    await problemOf(await c.ask(`/api/feedback?${query}`), 400, "THROUGHLINE_INVALID");
  });
}

test("one request looks at 500 packages, and the next one continues", async () => {
  const names = Array.from({ length: 500 }, (_, index) => {
    return `2099-01-01T00-00-00_positive_fb_${index.toString(16).padStart(12, "0")}`;
  });
  for (const name of names) mkdirSync(join(home, "feedback", name));
  const first = await c.get("/api/feedback?query=tea");
  assert.deepEqual(first, { packages: [], cursor: names[0] });
  assert.deepEqual(whatOf(await c.get(`/api/feedback?query=tea&cursor=${names[0]}`)), [
    "Green tea",
  ]);
  for (const name of names) rmSync(join(home, "feedback", name), { recursive: true });
});

test("a package that is withheld is found by no filter", async () => {
  const { packages } = await c.get("/api/feedback?query=sky");
  const folder = join(home, "feedback", packages[0].name);
  cpSync(folder, join(home, "copy"), { recursive: true });
  const { messages } = await c.throughline.chats.messages("local:other");
  await c.throughline.chats.erase("local:other", messages[1]?.id ?? "");
  cpSync(join(home, "copy"), folder, { recursive: true });
  assert.equal((await c.get("/api/feedback")).packages.length, 3);
  assert.deepEqual((await c.get("/api/feedback?query=sky")).packages, []);
});

function whatOf({ packages }: { readonly packages: readonly { readonly feedback?: unknown }[] }) {
  return packages.map(({ feedback }) => (feedback as { readonly what: string }).what);
}

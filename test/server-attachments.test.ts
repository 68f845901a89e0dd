// Files with messages, over HTTP.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import sharp from "sharp";
import { type GivenFile, takenFiles } from "../src/core/chat/attachments.ts";
import { openThroughline } from "../src/core/throughline.ts";
import { pdf, png, textFile } from "./support/sample-files.ts";
import { type Companion, companion, jsonOf, me, problemOf } from "./support/server-fixture.ts";

type Part = readonly [name: string, value: string | GivenFile];

const hashOf = (file: GivenFile) => takenFiles([file])[0]?.attachment.sha256 ?? "";

/** Sends a form to a chat, as a browser and curl do. */
async function sendForm(
  { ask }: Companion,
  parts: readonly Part[],
  headers: Record<string, string> = {},
): Promise<Response> {
  const form = new FormData();
  for (const [name, value] of parts) {
    if (typeof value === "string") form.append(name, value);
    else
      form.append(
        name,
        new Blob([Buffer.from(value.bytes)], { type: value.type ?? "" }),
        value.name,
      );
  }
  const request = new Request("http://x/", { method: "POST", body: form });
  const type = request.headers.get("content-type") ?? "";
  const body = (await request.bytes()) as unknown as string;
  const init = { method: "POST", body, headers: { "content-type": type, ...headers } };
  return ask(`${me}/messages`, init);
}

/** Of a file of a message: its path. */
const pathOf = (messageId: string, file: GivenFile) =>
  `${me}/messages/${encodeURIComponent(messageId)}/attachments/${hashOf(file)}`;

test("a form sends a message with files, which can be read as long as it is shown", async () => {
  const c = await companion([["Nice"], ["Still"], ["Again"]]);
  const html = textFile("page.html", "<script>alert(1)</script>", "text/html");
  const svg = textFile("a.svg", "<svg xmlns='http://www.w3.org/2000/svg'/>", "image/svg+xml");
  const named = { ...pdf, name: 'Übersicht "1".pdf' };
  const files = [png, named, html, svg];
  const answer = await jsonOf(
    // A form sends line breaks as CRLF.
    await sendForm(c, [["content", "look\nhere"], ...files.map((file): Part => ["file", file])]),
    200,
  );
  assert.equal(answer.user.content, "look\nhere");
  assert.deepEqual(
    answer.user.attachments.map((file: { name: string; type: string }) => [file.name, file.type]),
    [
      ["cat.png", "image/png"],
      ['Übersicht "1".pdf', "application/pdf"],
      ["page.html", "text/html"],
      ["a.svg", "image/svg+xml"],
    ],
  );
  const page = await c.get(`${me}/messages`);
  assert.deepEqual(page.messages[0].attachments, answer.user.attachments);
  for (const file of files) {
    const response = await c.ask(pathOf(answer.user.id, file));
    assert.equal(response.status, 200);
    assert.deepEqual(await response.bytes(), new Uint8Array(file.bytes));
    const isPicture = file === png;
    const { headers } = response;
    assert.equal(headers.get("content-type"), isPicture ? "image/png" : "application/octet-stream");
    assert.match(
      headers.get("content-disposition") ?? "",
      isPicture ? /^inline; / : /^attachment; /,
    );
    assert.equal(headers.get("x-content-type-options"), "nosniff");
    assert.equal(headers.get("content-security-policy"), "default-src 'none'; sandbox");
    assert.equal(headers.get("cache-control"), "private, no-cache");
    const etag = headers.get("etag") ?? "";
    const again = await c.ask(pathOf(answer.user.id, file), { headers: { "if-none-match": etag } });
    assert.equal(again.status, 304);
  }
  const { headers } = await c.ask(pathOf(answer.user.id, named));
  assert.equal(
    headers.get("content-disposition"),
    "attachment; filename=\"_bersicht _1_.pdf\"; filename*=UTF-8''%C3%9Cbersicht%20%221%22.pdf",
  );
  const head = await c.ask(pathOf(answer.user.id, png), { method: "HEAD" });
  assert.equal(head.headers.get("content-length"), String(png.bytes.length));
  const isGone = async (what: string) => {
    const response = await c.ask(pathOf(answer.user.id, png));
    assert.equal(response.status, 404, what);
  };
  const other = await jsonOf(await c.say("other"), 200);
  assert.equal((await c.ask(pathOf(other.user.id, png))).status, 404, "not named by this message");
  await c.throughline.chats.clear("local:me");
  await isGone("cleared");
});

test("a file is 404 once its message is gone", async () => {
  const c = await companion([["1"], ["2"], ["3"]]);
  const { chats } = c.throughline;
  for (const remove of [
    (id: string) => chats.erase("local:me", id),
    (id: string) => chats.takeBack("local:me", [id]),
    () => chats.forget("local:me"),
  ]) {
    const { user } = await jsonOf(await sendForm(c, [["file", png]]), 200);
    assert.equal((await c.ask(pathOf(user.id, png))).status, 200);
    await remove(user.id);
    const headers = { "if-none-match": `"${hashOf(png)}"` };
    assert.equal((await c.ask(pathOf(user.id, png), { headers })).status, 404);
  }
});

test("a key stands for a message with its files", async () => {
  const c = await companion([["Nice"]]);
  const key = { "idempotency-key": "k1" };
  const parts: readonly Part[] = [
    ["content", "look"],
    ["file", png],
  ];
  const first = await jsonOf(await sendForm(c, parts, key), 200);
  const again = await jsonOf(await sendForm(c, parts, key), 200);
  assert.deepEqual(again.assistant, first.assistant);
  for (const other of [[parts[0]!], [parts[0]!, ["file", pdf] as const]]) {
    await problemOf(await sendForm(c, other, key), 409, "THROUGHLINE_ID_CONFLICT");
  }
  await problemOf(await c.say("look", key), 409, "THROUGHLINE_ID_CONFLICT");
  assert.equal(c.model.requests.length, 1);
});

const unused = await companion();
const big = { name: "big", bytes: new Uint8Array(20 * 1024 * 1024 + 1) };
const bigger = { ...big, bytes: new Uint8Array(22 * 1024 * 1024) };
const codes = { 400: "INVALID", 403: "FORBIDDEN", 413: "TOO_LARGE", 415: "MEDIA_TYPE" } as const;
const times = (count: number, part: Part) => Array<Part>(count).fill(part);
const otherType = { "content-type": "multipart/form-data; boundary=other" };
const refused: readonly (readonly [
  says: string,
  parts: readonly Part[],
  status: keyof typeof codes,
  headers?: Record<string, string>,
])[] = [
  ["nothing in it", [], 400],
  ["empty text alone", [["content", " "]], 400],
  ["another field", [...times(1, ["content", "x"]), ["id", "1"]], 400],
  ["a field twice", times(2, ["content", "x"]), 400],
  ["a file under another name", [["picture", png]], 400],
  ["text in place of a file", [["file", "x"]], 400],
  ["a name of control characters", [["file", { ...png, name: "a\tb" }]], 400],
  ["11 files", times(11, ["file", png]), 413],
  // Counted before they are parsed: no field of theirs is looked at.
  ["more parts than fields and files", times(33, ["content", "x"]), 413],
  ["long headers of a part", [["file", { ...png, name: "a".repeat(9_000) }]], 413],
  ["more than 20 MiB", [["file", big]], 413],
  ["22 MiB", [["file", bigger]], 413],
  ["too long a text", [["content", "x".repeat(1_048_577)]], 413],
  ["another origin", [["file", png]], 403, { origin: "http://evil.example" }],
  ["no boundary", [["file", png]], 400, otherType],
  ["an encoding", [["file", png]], 415, { "content-encoding": "gzip" }],
];
for (const [says, parts, status, headers] of refused) {
  test(`a form with ${says} is ${status} and stores nothing`, async () => {
    const c = unused;
    const response = await sendForm(c, parts, headers);
    const { detail } = await problemOf(response, status, `THROUGHLINE_${codes[status]}`);
    if (says.includes("files") || says.includes("MiB")) {
      assert.equal(detail, "a message takes at most 10 files, and 20 MiB in all");
    }
    assert.equal((await c.throughline.chats.list()).chats.length, 0);
    assert.equal((await c.throughline.chats.files.list("local:me")).length, 0);
  });
}

test("a photo is stored without its place and device, under the hash of what is stored, unless a setting keeps them", async () => {
  const black = { create: { width: 8, height: 8, channels: 3, background: "black" } } as const;
  const picture = sharp(black).withExif({ IFD0: { Make: "Secretcam" } });
  const bytes = await picture.jpeg().toBuffer();
  for (const keepPhotoMetadata of [false, true]) {
    const target = { provider: "scripted", model: "scripted" };
    const memories = { storage: "memory", keepPhotoMetadata, ...target } as const;
    await using throughline = await openThroughline(memories);
    const c = await companion([["Nice"]], { throughline });
    const parts: Part[] = [["file", { name: "me.jpg", type: "image/jpeg", bytes }]];
    const { user } = await jsonOf(await sendForm(c, parts), 200);
    const [{ sha256, size }] = user.attachments;
    const path = `${me}/messages/${encodeURIComponent(user.id)}/attachments/${sha256}`;
    const stored = Buffer.from(await (await c.ask(path)).arrayBuffer());
    assert.equal(createHash("sha256").update(stored).digest("hex"), sha256);
    assert.deepEqual([stored.length, stored.includes("Secretcam")], [size, keepPhotoMetadata]);
  }
});

test("of a form that does not say how long it is no more is read than a message can have", async () => {
  const c = await companion([]);
  let pulled = 0;
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      pulled += 1;
      if (pulled === 100) controller.close();
      else controller.enqueue(new Uint8Array(1024 * 1024));
    },
  });
  const headers = { "content-type": "multipart/form-data; boundary=x" };
  const init = {
    method: "POST",
    body: body as unknown as string,
    headers,
    duplex: "half",
  } as const;
  await problemOf(await c.ask(`${me}/messages`, init), 413, "THROUGHLINE_TOO_LARGE");
  assert.ok(pulled < 25, `${pulled} MiB`);
});

test("no other route takes a form, and the description tells that a message can be one", async () => {
  const headers = { "content-type": "multipart/form-data; boundary=x" };
  const response = await unused.ask(`${me}/retry`, { method: "POST", body: "--x--\r\n", headers });
  await problemOf(response, 415, "THROUGHLINE_MEDIA_TYPE");
  const { paths, components } = await unused.get("/api/openapi.json");
  const { content } = paths["/api/chats/{id}/messages"].post.requestBody;
  assert.deepEqual(Object.keys(content), ["application/json", "multipart/form-data"]);
  assert.equal(content["multipart/form-data"].schema.properties.file.items.format, "binary");
  assert.ok(components.schemas.Attachment);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { pdf, png, textFile } from "../../../test/support/sample-files.ts";
import { chat, type Script, scriptedCompanion } from "../../../test/support/scripted-companion.ts";
import {
  type ScriptedResponder,
  scriptedResponder,
} from "../../../test/support/scripted-responder.ts";
import { type GivenFile, takenFiles } from "../chat/attachments.ts";
import { pendingId } from "../chat/waiting.ts";
import { ThroughlineError } from "../errors.ts";
import { offlineResponder } from "../models/offline-responder.ts";
import { ResponderError } from "../models/responder.ts";
import type { Turn } from "./turn.ts";

async function world(script: Script, takes: readonly string[] = []) {
  const scripted = scriptedResponder(script, { model: "qwen3" });
  const responder = { ...scripted, takes: (type: string) => takes.includes(type) };
  const c = await scriptedCompanion(responder);
  return { ...c, model: scripted, responder };
}

/** What the model was sent last of the person's newest message: its text, and the names of the bytes. */
function asked({ requests }: ScriptedResponder) {
  const message = requests.at(-1)?.messages.findLast(({ role }) => role === "user");
  assert.equal(message?.role, "user");
  const sent = (message.files ?? []).filter(({ bytes }) => bytes !== undefined);
  return { content: message.content, sent: sent.map(({ name }) => name) };
}

async function noticesOf(turn: Turn): Promise<readonly string[]> {
  const told: string[] = [];
  for await (const each of turn.progress()) if (each.type === "notice") told.push(each.text);
  return told;
}

const hashOf = (file: GivenFile) => takenFiles([file])[0]?.attachment.sha256 ?? "";

test("files are stored before their message, which names them, and can be read back", async () => {
  const { chats, turns, model } = await world([["Nice"]], ["image/png"]);
  const notes = textFile("notes.md", "# Tea\n```\n2 cups\n```", "text/markdown");
  const turn = turns.submit(chat, { content: "look", attachments: [png, notes] });
  const { user } = await turn.done;
  assert.deepEqual(user.attachments, [
    { name: "cat.png", type: "image/png", size: png.bytes.length, sha256: hashOf(png) },
    { name: "notes.md", type: "text/markdown", size: 20, sha256: hashOf(notes) },
  ]);
  for (const file of [png, notes]) {
    assert.deepEqual(await chats.attachment(chat, hashOf(file)), new Uint8Array(file.bytes));
  }
  const fence = "````";
  const text = `[file: notes.md]\n${fence}\n# Tea\n\`\`\`\n2 cups\n\`\`\`\n${fence}`;
  const content = `look\n\n[image: cat.png]\n\n${text}`;
  assert.deepEqual(asked(model), { content, sent: ["cat.png"] });
  assert.deepEqual(turn.files, [], "no bytes are held once they are stored");
  await assert.rejects(chats.attachment(chat, "0".repeat(64)), { code: "THROUGHLINE_NOT_FOUND" });
});

test("the model gets the files of earlier messages again, also for another answer", async () => {
  const { turns, model } = await world([["1"], ["2"], ["3"]], ["image/png"]);
  await turns.submit(chat, { content: "look", attachments: [png] }).done;
  assert.deepEqual(await noticesOf(turns.submit(chat, { content: "and now?" })), []);
  const [first] = model.requests[1]?.messages ?? [];
  assert.equal(first?.role, "user");
  assert.deepEqual(first.files?.[0]?.bytes, new Uint8Array(png.bytes));
  await (await turns.retry(chat)).done;
  assert.deepEqual(model.requests[2]?.messages, model.requests[1]?.messages);
});

test("an unanswered message is answered with its files, also after more was said", async () => {
  const away = new ResponderError("away", { kind: "unavailable" });
  const script: Script = [[{ type: "fail", error: away }], ["1"]];
  const { turns, chats, model } = await world(script, ["image/png"]);
  const { user } = await turns.submit(chat, { content: "look", attachments: [png] }).done;
  await chats.append(chat, [{ role: "user", content: "by the way" }]);
  const { user: answered } = await (await turns.answer(chat)).done;
  assert.equal(answered.id, user.id);
  assert.deepEqual(asked(model).sent, ["cat.png"], "once, although it is said again");
});

test("the next prompt is shown with the files that go with it, and without their bytes", async () => {
  const { turns } = await world([["1"]], ["image/png"]);
  const notes = textFile("notes.md", "# Tea");
  await turns.submit(chat, { content: "look", attachments: [png, notes] }).done;
  const { request, sections } = await turns.nextPrompt(chat, { content: "and now?" });
  const [first] = request.messages;
  assert.match(first?.content ?? "", /^look\n\n\[image: cat\.png\]\n\n\[file: notes\.md\]/);
  assert.doesNotMatch(JSON.stringify(request), /"bytes"/);
  const history = sections.find(({ name }) => name === "history");
  assert.ok((history?.tokens ?? 0) > 1_500, "a picture counts");
});

test("what a model does not take is named to it, and the person is told once", async () => {
  const { turns, model } = await world([["1"], ["2"]]);
  const zip = { name: "a.zip", bytes: Buffer.from([0x50, 0x4b, 3, 4, 0, 0]) };
  const long = textFile("long.txt", "x".repeat(256 * 1024 + 1));
  const attachments = [png, { ...png, name: "dog.png" }, pdf, zip, long];
  const turn = turns.submit(chat, { content: "look", attachments });
  assert.deepEqual(await noticesOf(turn), [
    "cat.png and dog.png: not sent to the model, because qwen3 does not take pictures.",
    "plan.pdf: not sent to the model, because qwen3 does not take PDF files.",
    "a.zip: not sent to the model, because qwen3 does not take such files.",
    "long.txt: not sent to the model, because a text may have 256 KiB.",
  ]);
  assert.deepEqual(asked(model), {
    content:
      "look\n\n[image: cat.png, not shown to you]\n\n[image: dog.png, not shown to you]\n\n" +
      "[file: plan.pdf, not shown to you]\n\n[file: a.zip, not shown to you]\n\n" +
      "[file: long.txt, too long to be shown to you]",
    sent: [],
  });
  assert.deepEqual(await noticesOf(turns.submit(chat, { content: "well?" })), []);
});

test("a model that refuses the bytes is asked without them, and the chat goes on", async () => {
  const refusal = new ResponderError("no images here", { kind: "refused" });
  const script = [["1"], [{ type: "fail" as const, error: refusal }], ["A cat, then"]];
  const { turns, model } = await world(script, ["image/png"]);
  await turns.submit(chat, { content: "read", attachments: [textFile("a.md", "# Tea")] }).done;
  const turn = turns.submit(chat, { content: "look", attachments: [png] });
  assert.deepEqual(await noticesOf(turn), ["qwen3 did not take cat.png."]);
  assert.equal((await turn.done).assistant?.content, "A cat, then");
  const { content, sent } = asked(model);
  assert.deepEqual(sent, []);
  const says = /\[image: cat\.png\]\n\n\(The files that are named above could not be shown/;
  assert.match(content, says);
  const [first] = model.requests.at(-1)?.messages ?? [];
  assert.equal(first?.content, "read\n\n[file: a.md]\n```\n# Tea\n```");
});

test("a message needs text or a file; its title is the name of the file, by which it is found and remembered", async () => {
  const { turns, chats, workingMemory } = await world([["1"]], ["image/png"]);
  assert.throws(() => turns.submit(chat, { content: " " }), { code: "THROUGHLINE_INVALID" });
  await turns.submit(chat, { content: "", attachments: [png] }).done;
  assert.match(workingMemory.peek(chat)?.summary() ?? "", /You said '\[image: cat\.png\]'/);
  assert.equal((await chats.row(chat)).title, "cat.png");
  await chats.rename(chat, "Mine");
  await chats.rename(chat, "");
  assert.equal((await chats.row(chat)).title, "cat.png");
  const hits = await chats.search("cat");
  assert.deepEqual(hits.map(({ message }) => message.seq).length, 1);
});

test("a message that waits keeps its files, and has them when it is taken up or dismissed", async () => {
  const gate = Promise.withResolvers<void>();
  const script = [[{ type: "wait" as const, until: gate.promise }, "1"], ["2"], ["3"]];
  const { turns, chats, throughline, model, responder } = await world(script, ["image/png"]);
  const first = turns.submit(chat, { content: "first" });
  for await (const { type } of first.progress()) if (type === "accepted") break;
  for (const id of ["m2", "m3"]) {
    const waiting = turns.submit(chat, { id, content: "", attachments: [png] });
    while (waiting.files.length > 0) await setImmediate();
    waiting.done.catch(() => undefined); // it is closed below
  }
  const record = await chats.logs.find(chat, pendingId("m2"));
  assert.deepEqual((record?.["attachments"] as object[])?.length, 1);
  assert.deepEqual(await chats.attachment(chat, hashOf(png)), new Uint8Array(png.bytes));
  const closing = turns.close(0);
  gate.resolve();
  await closing;
  const next = await throughline.turns({ model: responder });
  const other = next.submit(chat, { id: "m2", content: "", attachments: [pdf] });
  await assert.rejects(other.done, { code: "THROUGHLINE_ID_CONFLICT" });
  const answered = await (await next.answer(chat)).done;
  assert.equal(answered.user.id, "m2");
  assert.deepEqual(asked(model).sent, ["cat.png"]);
  assert.equal(answered.user.attachments?.[0]?.name, "cat.png");
  assert.equal(await next.dismiss(chat), 1);
  assert.equal((await chats.message(chat, "m3")).attachments?.[0]?.name, "cat.png");
});

test("a message whose file cannot be stored is not stored, and can be sent again", async () => {
  const { turns, chats, model } = await world([["1"]], ["image/png"]);
  const { files } = chats;
  const put = files.put.bind(files);
  files.put = async () => {
    await setImmediate();
    throw new ThroughlineError("full", { code: "THROUGHLINE_UNAVAILABLE" });
  };
  const input = { id: "m1", content: "look", attachments: [png] };
  await assert.rejects(turns.submit(chat, input).done, { code: "THROUGHLINE_UNAVAILABLE" });
  assert.equal(await chats.find(chat, "m1"), undefined);
  files.put = put;
  await turns.submit(chat, input).done;
  assert.deepEqual(asked(model).sent, ["cat.png"]);
});

test("a message that was erased while it waited and is sent again brings no file back", async () => {
  const gates = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const script = gates.map(({ promise }) => [{ type: "wait" as const, until: promise }, "1"]);
  const { turns, chats } = await world(script, ["image/png"]);
  const input = { id: "m2", content: "look", attachments: [png] };
  for (const [index, gate] of gates.entries()) {
    const running = turns.submit(chat, { content: "busy" });
    for await (const { type } of running.progress()) if (type === "accepted") break;
    const waiting = turns.submit(chat, input);
    while (waiting.files.length > 0) await setImmediate();
    assert.equal((await chats.files.list(chat)).length, index === 0 ? 1 : 0);
    const erasing = index === 0 ? chats.erase(chat, input.id) : undefined;
    gate.resolve();
    await running.done;
    await erasing;
    await assert.rejects(waiting.done, { code: "THROUGHLINE_NOT_FOUND" });
    assert.deepEqual(await chats.files.list(chat), []);
  }
});

test("a chat that is forgotten while its file is stored holds the file of the new message", async () => {
  const { turns, chats } = await world([["1"]], ["image/png"]);
  await chats.append(chat, [{ role: "user", content: "old" }]);
  const { files } = chats;
  const put = files.put.bind(files);
  let forgetting: Promise<unknown> | undefined;
  files.put = async (...args) => {
    forgetting ??= chats.forget(chat);
    for (let i = 0; i < 20; i++) await setImmediate();
    return put(...args);
  };
  const turn = turns.submit(chat, { content: "look", attachments: [png] });
  await turn.done.catch(() => undefined); // forgotten before it was answered, or not
  await forgetting;
  const isThere = await chats.find(chat, turn.id);
  const bytes = await files.get(chat, hashOf(png));
  assert.equal(isThere === undefined || bytes !== undefined, true, "a message without its file");
});

test("the built-in responder says that it got a file and cannot see it", async () => {
  const { turns } = await scriptedCompanion(offlineResponder());
  for (const [content, says] of [
    ["look", /^I got cat\.png, but I cannot look into it: .*You said: "look"\./],
    ["", /^I got cat\.png, .*You sent no words\./],
  ] as const) {
    const { assistant } = await turns.submit(chat, { content, attachments: [png] }).done;
    assert.match(assistant?.content ?? "", says);
  }
});

const bytes = new Uint8Array();
const refusals: readonly (readonly [says: string, files: readonly unknown[], code: string])[] = [
  ["no bytes", [{ name: "a", bytes: "text" }], "INVALID"],
  ["a path without a name", [{ name: "a/", bytes }], "INVALID"],
  ["a control character", [{ name: "a\nb", bytes }], "INVALID"],
  ["11 files", Array(11).fill(png), "TOO_LARGE"],
  ["20 MiB and a byte", [png, { ...png, bytes: new Uint8Array(20 * 1024 ** 2) }], "TOO_LARGE"],
];
test("a message that is refused, as one whose attachments are none, too many or too large, is not stored, nor its files", async () => {
  const { turns, chats } = await world([]);
  for (const [says, attachments, code] of refusals) {
    const input = { content: "x", attachments: attachments as GivenFile[] };
    assert.throws(() => turns.submit(chat, input), { code: `THROUGHLINE_${code}` }, says);
  }
  const content = '"'.repeat(1024 * 1024); // as JSON it is too long
  const long = { content, attachments: [png] };
  assert.throws(() => turns.submit(chat, long), { code: "THROUGHLINE_TOO_LARGE" });
  const forged = { id: "retry:1", content: "x", attachments: [png] };
  assert.throws(() => turns.submit(chat, forged), { code: "THROUGHLINE_INVALID" });
  const left = [(await chats.list()).chats, await chats.files.list(chat)];
  assert.deepEqual(left, [[], []]);
});

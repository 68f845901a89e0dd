// Pictures and text files that people send with their words: in packages, exports and the bucket.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { lines } from "../../test/support/feedback-export-files.ts";
import { filesUnder } from "../../test/support/feedback-packages.ts";
import { agreed, bucket, files, praise, started } from "../../test/support/moments-home.ts";
import { png, textFile } from "../../test/support/sample-files.ts";
import { scriptedResponder } from "../../test/support/scripted-responder.ts";
import { SimulatedDisk } from "../../test/support/simulated-disk.ts";
import { type GivenFile, takenFiles } from "../core/chat/attachments.ts";
import { openThroughline } from "../core/throughline.ts";
import { exportFeedback } from "./export/export-feedback.ts";
import type { FeedbackExportFormat } from "./export/selection.ts";
import type { MomentsOptions } from "./options.ts";

const chat = "a";
const notes = textFile("notes.md", "# Tea\n```\n2 cups\n```", "text/markdown");
const hashOf = (file: GivenFile) => takenFiles([file])[0]?.attachment.sha256 ?? "";

async function world(t: TestContext, options: Partial<MomentsOptions> = {}) {
  const home = mkdtempSync(join(tmpdir(), "throughline-sent-"));
  const throughline = await openThroughline({ home });
  t.after(async () => {
    await throughline.close();
    rmSync(home, { recursive: true, force: true });
  });
  const moments = await started(throughline, options);
  const model = { ...scriptedResponder([["A cat"], ["Red"], ["Ok"]]), takes: () => true };
  const turns = await throughline.turns({ model });
  const send = async (content: string, attachments: readonly GivenFile[], name?: string) => {
    const answer = await turns.submit(chat, { content, attachments, name }).done;
    await setImmediate(); // the buffers have it, too
    return answer;
  };
  const react = async () => {
    const receipt = moments.recorder.record(praise);
    await receipt.whenDurable();
    return receipt.name;
  };
  /** The hashes of the files in a package. */
  const filesIn = (name: string) => {
    const folder = join(home, "feedback", name, "attachments");
    return files(folder).sort();
  };
  const exported = async (format: FeedbackExportFormat) => {
    const disk = new SimulatedDisk();
    const report = await exportFeedback(moments.packages, disk, "/out", { format });
    return { report, files: (await filesUnder(disk, "/out")) ?? new Map<string, Buffer>() };
  };
  return { ...throughline, home, moments, model, send, react, filesIn, exported };
}

test("a picture and a text that were sent without words are in the package, and in rows as the model got them", async (t) => {
  const w = await world(t);
  const { user } = await w.send("", [png, notes], "Ann");
  const name = await w.react();
  assert.deepEqual(w.filesIn(name), [hashOf(png), hashOf(notes)].sort());
  const place = (file: GivenFile) => join(w.home, "feedback", name, "attachments", hashOf(file));
  assert.deepEqual(readFileSync(place(png)), Buffer.from(png.bytes));
  assert.equal(readFileSync(place(notes), "utf8"), "# Tea\n```\n2 cups\n```");
  assert.equal((await w.moments.packages.verify(name)).state, "whole");
  const { messages } = await w.moments.packages.read(name);
  assert.deepEqual(messages[0]?.attachments, user.attachments);
  const content = w.model.requests[0]?.messages[0]?.content ?? "";
  assert.match(content, /^"Ann":\n\n\[image: cat\.png\]\n\n\[file: notes\.md\]\n````\n# Tea/);
  const kto = await w.exported("kto");
  assert.deepEqual(kto.report.skipped, []);
  const [row] = lines(kto.files.get("train.jsonl"));
  assert.deepEqual(row?.["prompt"], [{ role: "user", content }]);
  const jsonl = await w.exported("jsonl");
  const [whole] = lines(jsonl.files.get("packages.jsonl"));
  const media = [png, notes].map((file) => `${name}/attachments/${hashOf(file)}`);
  assert.deepEqual(whole?.["media"], media.sort());
});

test("a row with pictures has each where it was sent, and the export has its bytes", async (t) => {
  const w = await world(t);
  await w.send("What is it?", [png]);
  await w.send("And its colour?", []);
  const name = await w.react();
  const { files, report } = await w.exported("imagefolder");
  const picture = `${name}/frames/${hashOf(png)}.png`;
  const [row] = lines(files.get("metadata.jsonl"));
  const text = (said: string) => ({ type: "text", text: said });
  const image = { type: "image", text: null };
  assert.deepEqual(row?.["images_file_names"], [picture]);
  assert.deepEqual(row?.["prompt"], [
    { role: "user", content: [image, text("What is it?\n\n[image: cat.png]")] },
    { role: "assistant", content: [text("A cat")] },
    { role: "user", content: [text("And its colour?")] },
  ]);
  assert.deepEqual(files.get(picture), Buffer.from(png.bytes));
  assert.equal(report.rows.frames, 1);
});

for (const how of ["erase", "forget"] as const) {
  test(`no package keeps a file once its message is gone by ${how}`, async (t) => {
    const w = await world(t);
    const { user } = await w.send("look", [png]);
    const name = await w.react();
    assert.deepEqual(w.filesIn(name), [hashOf(png)]);
    if (how === "erase") await w.chats.erase(chat, user.id);
    else await w.chats.forget(chat);
    assert.deepEqual(w.filesIn(name), []);
    assert.deepEqual((await w.moments.packages.list()).packages, []);
  });
}

test("a file follows the consent to words, not that to pictures", async (t) => {
  const w = await world(t);
  await w.moments.agree({ ...agreed, frames: false, audio: false });
  await w.send("look", [png]);
  assert.deepEqual(w.filesIn(await w.react()), [hashOf(png)]);
  await w.moments.agree({ ...agreed, messages: false });
  await w.send("and now", [png]);
  assert.deepEqual(w.filesIn(await w.react()), []);
});

test("a package takes the newest files, at most 20 MiB, and none that the model was only told of", async (t) => {
  const w = await world(t);
  const large = (n: number): GivenFile => {
    const bytes = Buffer.alloc(9 * 1024 * 1024, n);
    bytes.write("%PDF-1.4\n");
    return { name: `${n}.pdf`, bytes };
  };
  const zip: GivenFile = { name: "a.zip", bytes: Buffer.from([0, 1, 2]) };
  await w.send("one", [large(1)]);
  await w.send("two", [large(2)]);
  await w.send("three", [large(3), zip]);
  const name = await w.react();
  assert.deepEqual(w.filesIn(name), [hashOf(large(2)), hashOf(large(3))].sort());
  assert.equal((await w.moments.packages.verify(name)).state, "whole");
});

for (const mode of ["s3", "local+s3"] as const) {
  test(`in mode ${mode} the bucket has the files of a package`, async (t) => {
    const { server, s3, keys } = await bucket(t);
    const w = await world(t, { mode, s3 });
    await w.send("look", [png]);
    const name = await w.react();
    await w.moments.upload();
    const key = `feedback/a1b2c3d4/${name}/attachments/${hashOf(png)}`;
    assert.deepEqual(Buffer.from(server.objects("moments").get(key)?.body ?? []), png.bytes);
    await w.chats.forget(chat);
    await w.moments.upload();
    assert.deepEqual(keys(), []);
  });
}

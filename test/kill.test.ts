// A killed server keeps what it answered; test/full has kills under load.
import assert from "node:assert/strict";
import fs from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { isThroughlineError } from "../src/core/errors.ts";
import { openThroughline } from "../src/core/throughline.ts";
import { Process, serveHere } from "./support/command-line.ts";
import { getJson, inKeptDirectory, listChats, readChat, say } from "./support/kill-harness.ts";

const isFull = process.env["THROUGHLINE_FULL"] === "1";

const startServer = (t: TestContext, home: string) =>
  new Process(t, ["serve", "--port", "0"], { home });

test("a writer whose lock file was taken away stores nothing more", async () => {
  await inKeptDirectory("lock", async (directory) => {
    const home = join(directory, "home");
    const throughline = await openThroughline({ home });
    const { chats } = throughline;
    const documents = throughline.storage.documents("session");
    await chats.append("local:me", [{ role: "user", content: "Hello" }]);
    await documents.write("state", { count: 1 });
    fs.unlinkSync(join(home, "lock.db"));
    const another = await openThroughline({ home });
    const isLocked = (error: unknown) => isThroughlineError(error, "THROUGHLINE_LOCKED");
    await assert.rejects(chats.append("local:me", [{ role: "user", content: "Lost" }]), isLocked);
    await assert.rejects(documents.write("state", { count: 2 }), isLocked);
    await assert.rejects(chats.forget("local:me"), isLocked);
    const { messages } = await another.chats.messages("local:me");
    assert.deepEqual(
      messages.map(({ content }) => content),
      ["Hello"],
    );
    assert.deepEqual((await another.storage.documents("session").read("state"))?.value, {
      count: 1,
    });
    await throughline.close();
    await another.close();
  });
});

const chats = isFull ? 300 : 12;
test(`${chats} chats opened and written 10 at a time are all kept when their server is killed, and a second server on their home is refused within 1 s, naming the first`, async (t) => {
  await inKeptDirectory("chats", async (directory) => {
    const home = join(directory, "home");
    const first = startServer(t, home);
    const url = await first.url();
    const startMs = performance.now() - first.startedAt;
    // At most three times: what else the machine does is not what is measured.
    let refusedMs = Number.POSITIVE_INFINITY;
    for (let attempt = 0; attempt < 3 && refusedMs >= startMs + 1_000; attempt++) {
      const second = startServer(t, home);
      const { code, err } = await second.ended();
      assert.equal(code, 1);
      refusedMs = Math.min(refusedMs, performance.now() - second.startedAt);
      assert.ok(err.includes(`process ${first.child.pid} on `), err);
      assert.match(err, /THROUGHLINE_LOCKED/);
    }
    // Loading takes what it took the first, which came further.
    assert.ok(refusedMs < startMs + 1_000, `refused after ${refusedMs} ms, started in ${startMs}`);
    const left = Array.from({ length: chats }, (_, i) => `chat:${i}`);
    const answers = new Map<string, unknown>();
    const client = async () => {
      for (let chat = left.pop(); chat !== undefined; chat = left.pop()) {
        const answer = await say(url, chat, chat, `Hello from ${chat}`);
        answers.set(chat, [answer?.user, answer?.assistant]);
      }
    };
    await Promise.all(Array.from({ length: 10 }, client));
    await first.kill();
    const { url: again, stop } = await serveHere(t, home);
    const listed = await listChats(again, 50);
    assert.deepEqual(listed.sort(), [...answers.keys()].sort());
    assert.equal(listed.length, chats);
    for (const chat of listed) {
      assert.deepEqual(await readChat(again, chat, 50), answers.get(chat), chat);
      const session = await getJson(again, `/api/chats/${encodeURIComponent(chat)}`);
      assert.equal(session.message_count, 1, chat);
    }
    await stop();
  });
});

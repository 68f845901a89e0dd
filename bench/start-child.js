// node bench/start-child.js [HOME kill|end|newest]: what a process does first. JavaScript, so that a start
// does not include the removal of types.
import { setTimeout as pause } from "node:timers/promises";
import { openThroughline } from "../dist/index.js";

const [, , home, how] = process.argv;
if (home === undefined) {
  process.stdout.write("imported\n");
} else {
  const throughline = await openThroughline({ home });
  if (how === "newest") {
    const { messages } = await throughline.chats.messages("a", { limit: 50 });
    process.stdout.write(`${messages.length}\n`);
    process.exit(messages.length === 50 ? 0 : 1);
  }
  const { chats } = await throughline.chats.list({ limit: 50 });
  process.stdout.write(`${chats[0]?.chat_id}\n`);
  // A few chats are written to, so that there is something in the journal; the last one leads the list then.
  let last = "";
  for (let i = 0; i < 100; i++) {
    if (i === 99) await pause(5); // chats of the same millisecond are listed by their ids
    last = `telegram:${(i * 7_919 + process.pid) % 10_000}`;
    await throughline.chats.append(last, [{ role: "user", content: "Where are the whales now?" }]);
  }
  if (how === "end") await throughline.close();
  process.stdout.write(`${last}\n`);
  if (how === "kill") setInterval(() => {}, 1_000); // until the parent kills it
}

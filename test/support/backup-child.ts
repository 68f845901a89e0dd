// A process that uses a home: says things, erases and forgets. Each line that it prints
// was acknowledged before it was printed. Once it is told anything, it forgets no more, which would empty
// the journal. It ends by itself after some seconds at the latest.
import { setTimeout as wait } from "node:timers/promises";
import { openThroughline } from "../../src/core/throughline.ts";

const [, , home = ""] = process.argv;
const endsAt = performance.now() + 20_000;
const note = (line: object) =>
  process.stdout.write(`${JSON.stringify({ ...line, at: Date.now() })}\n`);

const throughline = await openThroughline({ home });
const { chats, storage } = throughline;
const say = async (chat: string, id: string, content: string) => {
  await chats.append(chat, [{ id, role: "user", content }]);
};
let isTold = false;
process.stdin.once("data", () => {
  isTold = true;
});
const notes = storage.documents("notes");
for (let i = 0; performance.now() < endsAt; i++) {
  await Promise.all([0, 1, 2, 3].map((chat) => say(`chat:${chat}`, `m${chat}-${i}`, `word-${i}`)));
  note({ said: i });
  await wait(3); // it is to leave the processor to others
  if (isTold || i % 4 > 0) continue;
  await say("chat:0", `e${i}`, `erase-${i}-me`);
  await say(`gone:${i % 3}`, `f${i}`, `forget-${i}-me`);
  await notes.write("note", { text: `replace-${i}-me` });
  await notes.write("note", { text: `replace-${i}-me`, again: true });
  await chats.erase("chat:0", `e${i}`);
  await chats.forget(`gone:${i % 3}`);
  await notes.write("note", { text: "nothing" });
  await notes.write("note", { text: "nothing", again: true });
  note({ gone: i });
}
process.exit();

// node bench/start-child.js ENTRY [HOME LEVEL newest|list|kill|end|fill COUNT]: what a process does first. JavaScript,
// so that a start does not include the removal of types. Its first line is what it did and the processor
// time that it took until then, in milliseconds.
import { setTimeout as pause } from "node:timers/promises";

const [, , entry, home, durability, what, count] = process.argv;
const { openThroughline } = await import(entry);
const say = (did) => {
  const { user, system } = process.cpuUsage();
  process.stdout.write(`${JSON.stringify({ did, cpuMs: (user + system) / 1_000 })}\n`);
};

if (home === undefined) {
  say("imported");
} else {
  const throughline = await openThroughline({ home, durability });
  const { chats } = throughline;
  const append = (i) =>
    chats.append(`telegram:${i}`, [{ role: "user", content: "Where are the whales now?" }]);
  if (what === "newest") {
    const { messages } = await chats.messages("a", { limit: 50 });
    say(messages.length);
    process.exit(messages.length === 50 ? 0 : 1);
  }
  say((await chats.list({ limit: 50 })).chats[0]?.chat_id);
  if (what === "fill") {
    let left = Number(count);
    const one = async () => {
      while (left-- > 0) await append((left * 7_919) % 10_000);
    };
    await Promise.all(Array.from({ length: 200 }, one));
  } else if (what !== "list") {
    // A few chats are written to, so that there is something in the journal.
    for (let i = 0; i < 99; i++) await append((i * 7_919 + process.pid) % 10_000);
  }
  await pause(5); // chats of the same millisecond are listed by their ids
  const last = process.pid % 10_000; // it leads the list then
  if (what !== "list") await append(last);
  if (what === "end") await throughline.close();
  say(`telegram:${last}`);
  if (what !== "end") setInterval(() => {}, 1_000); // until the parent kills it
}

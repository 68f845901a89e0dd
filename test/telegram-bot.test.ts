// The bot of examples/telegram, as the guide shows it, in a process of its own against a server that speaks
// Telegram's Bot API: refused, rate-limited, cut off and killed.
import assert from "node:assert/strict";
import { randomInt } from "node:crypto";
import fs from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { setTimeout as wait } from "node:timers/promises";
import { openThroughline } from "../src/index.ts";
import { type Random, seededRandom } from "../src/testing/random.ts";
import { Child } from "./support/command-line.ts";
import { imported } from "./support/document-program.ts";
import { compileCache } from "./support/program.ts";
import { echoOf } from "./support/telegram-model.ts";
import { type Fate, TelegramServer } from "./support/telegram-server.ts";

const example = fs.readFileSync(join(import.meta.dirname, "../examples/telegram/bot.mts"), "utf8");

/** A server, and a folder with the bot: the example with another model. */
async function world(t: TestContext) {
  const telegram = new TelegramServer();
  const url = await telegram.listen();
  const folder = fs.mkdtempSync(join(tmpdir(), "throughline-telegram-"));
  const programs = fs.mkdtempSync(join(import.meta.dirname, ".tmp-telegram-"));
  const path = join(programs, "bot.mts");
  const text = imported(example).replace("offlineResponder()", "echo()");
  assert.ok(text.includes(" echo()"));
  fs.writeFileSync(path, `import { echo } from "../support/telegram-model.ts";\n${text}`);
  const bots = new Set<Child>();
  t.after(async () => {
    for (const bot of bots) await bot.kill();
    await telegram.close();
    for (const path of [programs, folder]) fs.rmSync(path, { recursive: true });
  });
  const start = (variables: Readonly<Record<string, string>> = {}) => {
    const env = { TELEGRAM_URL: url, TELEGRAM_TOKEN: "1:x", STATE_DIRECTORY: folder };
    const bot = new Child(undefined, process.execPath, [path], {
      env: { ...env, ...variables, HOME: folder, PATH: "", NODE_COMPILE_CACHE: compileCache },
    });
    bots.add(bot);
    return bot;
  };
  return { telegram, start, home: join(folder, "home") };
}

const sentTo = (telegram: TelegramServer, chat: number) =>
  telegram.delivered.filter((sent) => sent.chat === chat).map(({ text }) => text);

const isOver = (telegram: TelegramServer) => () => telegram.unconfirmed.length === 0;

/** Words in one line, exactly so long. */
function wordsOf(random: Random, length: number): string {
  const letter = () => (random(30) === 0 ? "😀" : String.fromCodePoint(97 + random(26)));
  const word = () => Array.from({ length: 1 + random(9) }, letter).join("");
  const words = Array.from({ length }, word).join(" ").slice(0, length);
  return words.replace(/\W+$/, (end) => "x".repeat(end.length));
}

test("a person whose answer is refused, limited or cut off keeps no other from an answer", async (t) => {
  const { telegram, start } = await world(t);
  const fates = new Map<number, Fate[]>([
    [1, ["blocked"]],
    [3, ["dropped"]],
    [4, ["broken"]],
  ]);
  // For a second, and on a busy machine until the others have their answers.
  let limits = 0;
  const isLimited = () => telegram.delivered.length < 4 && limits++ < 9;
  telegram.fate = ({ chat }) => {
    if (chat === 2 && isLimited()) return "limited";
    return fates.get(chat)?.shift() ?? "ok";
  };
  telegram.pollFates = ["dropped", "conflict"];
  const bot = start();
  for (let chat = 0; chat < 6; chat++) telegram.say(chat, `I am ${chat}`);
  telegram.say(6); // a picture
  await telegram.until(isOver(telegram));
  assert.equal(telegram.delivered.at(-1)?.chat, 2, "whose limit was a second or more");
  assert.ok(limits > 0);
  telegram.say(1, "I am back");
  await telegram.until(isOver(telegram));
  for (const chat of [0, 2, 3, 4, 5]) {
    assert.deepEqual(sentTo(telegram, chat), [`1: I am ${chat}`]);
  }
  assert.deepEqual(sentTo(telegram, 1), ["1: I am back"]);
  assert.equal(telegram.impatient, 0);
  assert.equal(bot.child.exitCode, null);
});

test("a long answer comes in pieces that end with a line or a word, or else a whole character", async (t) => {
  const { telegram, start } = await world(t);
  start();
  const seed = randomInt(2 ** 31);
  const random = seededRandom(seed);
  const cuts: readonly (readonly [words: string, cut: (answer: string) => number])[] = [
    [wordsOf(random, 4_093), (answer) => answer.length],
    [wordsOf(random, 4_096), (answer) => answer.lastIndexOf(" ", 4_095)],
    [`2 times ${wordsOf(random, 3_000)}`, (answer) => answer.indexOf("\n")],
    ["y".repeat(4_096), () => 4_096],
    [`${"😀".repeat(2_048)}`, () => 4_095],
    [
      `${"x".repeat(2_500)}${" ".repeat(4_000)}${"y".repeat(4_000)}`,
      (answer) => answer.indexOf("y"),
    ],
  ];
  for (const [chat, [words]] of cuts.entries()) telegram.say(chat, words);
  await telegram.until(isOver(telegram));
  for (const [chat, [words, cut]] of cuts.entries()) {
    const answer = echoOf(words);
    const pieces = [answer.slice(0, cut(answer)), answer.slice(cut(answer))];
    const expected = pieces.map((piece) => piece.trim()).filter((piece) => piece !== "");
    assert.deepEqual(sentTo(telegram, chat), expected, `seed ${seed}, chat ${chat}`);
  }
});

test("what a dead process left without an answer is answered at the start, once", async (t) => {
  const { telegram, start, home } = await world(t);
  {
    await using throughline = await openThroughline({ home });
    const turns = await throughline.turns();
    const target = { provider: "echo", model: "echo" };
    for (const chat of ["telegram:7", "telegram:8", "local:000000009"]) {
      await turns.open(chat, { id: "telegram-1", content: "Are you there?" }, target);
    }
  }
  telegram.say(7, "Are you there?"); // Telegram repeats it, where it was not confirmed
  const fates: Fate[] = ["limited"];
  telegram.fate = ({ chat }) => (chat === 8 && fates.shift()) || "ok";
  start();
  await telegram.until(() => isOver(telegram)() && telegram.delivered.length >= 2);
  const text = "1: Are you there?";
  assert.deepEqual(
    telegram.delivered.toSorted((a, b) => a.chat - b.chat),
    [
      { chat: 7, text },
      { chat: 8, text },
    ],
  );
});

test("a person whom the model fails is told once, and answered at the next start", async (t) => {
  const { telegram, start } = await world(t);
  for (const chat of [7, 8]) {
    telegram.say(chat, "Hi");
    const bot = start({ MODEL: "away" });
    await telegram.until(isOver(telegram));
    await bot.kill();
  }
  start();
  await telegram.until(() => telegram.delivered.length >= 4);
  const [sorry = "", ...rest] = sentTo(telegram, 7);
  assert.match(sorry, /^Sorry: /);
  assert.deepEqual(rest, ["1: Hi"]);
});

test("a bot whose token is revoked ends with an exit code that says so", async (t) => {
  const { telegram, start } = await world(t);
  telegram.isRevoked = true;
  const bot = start();
  const { code, err } = await bot.ended();
  assert.equal(code, 1);
  assert.match(err, /getUpdates: Unauthorized/);
});

const isFull = process.env["THROUGHLINE_FULL"] === "1";
const size = isFull ? { kills: 20, messages: 1_000 } : { kills: 4, messages: 120 };
const seed = randomInt(2 ** 31);

test(`${size.messages} messages of 20 people are answered by a bot that is killed ${size.kills} times, nearly all once, with seed ${seed}`, async (t) => {
  const { telegram, start } = await world(t);
  const random = seededRandom(seed);
  const said = new Map<number, string[]>();
  const say = () => {
    const chat = 1 + random(20);
    const times = random(20) === 0 ? "9 times " : "";
    const words = `${times}${wordsOf(random, 10 + random(random(10) === 0 ? 2_000 : 100))}`;
    said.set(chat, [...(said.get(chat) ?? []), words]);
    telegram.say(chat, words);
  };
  let lost = 0;
  const fates: readonly Fate[] = ["limited", "dropped", "broken", "lost"];
  telegram.fate = () => {
    const fate = fates[random(isFull ? 1_000 : 200)] ?? "ok";
    if (fate === "lost") lost++;
    return fate;
  };
  for (let kill = 0; kill < size.kills; kill++) {
    const count = 1 + random((2 * size.messages) / (size.kills + 1));
    for (let n = 0; n < count; n++) say();
    const bot = start();
    // Somewhere in the middle of its work, or while it starts.
    const enough = telegram.delivered.length + random(count);
    const isStarting = random(4) === 0;
    if (!isStarting) await telegram.until(() => telegram.delivered.length >= enough);
    await wait(random(isStarting ? 400 : 20));
    await bot.kill();
  }
  while (telegram.said < size.messages) say();
  start();
  await telegram.until(isOver(telegram));
  let doubles = 0;
  for (const [chat, all] of said) {
    const sent = sentTo(telegram, chat);
    const once = [...new Set(sent)];
    doubles += sent.length - once.length;
    const words = (texts: readonly string[]) => texts.join("").replaceAll(/\s/g, "");
    assert.ok(words(once) === words(all.map(echoOf)), `seed ${seed}: chat ${chat} has all answers`);
  }
  t.diagnostic(
    `${doubles} of ${telegram.delivered.length} were sent twice, ${lost} replies were lost`,
  );
  assert.ok(doubles <= lost + size.kills, `seed ${seed}: ${doubles} doubles`);
});

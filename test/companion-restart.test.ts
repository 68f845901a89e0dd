// A companion that is killed, stopped and left alone, seen from outside: over HTTP, in its files, and
// by what its model is asked.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import fs from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { setTimeout as wait } from "node:timers/promises";
import { systemClock } from "../src/core/clock.ts";
import { Process, serveHere } from "./support/command-line.ts";
import { chatsOf, documentIn, filesOf, newHome, talk, up } from "./support/companion-home.ts";
import { HeldClock } from "./support/held-clock.ts";
import { getJson, readChat, say } from "./support/kill-harness.ts";
import { openAiServer, type Reply, type SeenRequest } from "./support/openai-server.ts";

const noSignals = process.platform === "win32" && "Windows has no signals";
const isFull = process.env["THROUGHLINE_FULL"] === "1";
/** Each of these starts a server several times. */
const onlyFull = noSignals || (!isFull && "THROUGHLINE_FULL=1 runs it");
const chat = "local:me";

interface Server {
  readonly url: string;
  readonly end: (signal: "SIGKILL" | "SIGTERM") => Promise<void>;
}

interface ServerOptions {
  readonly model?: string;
  /** The loop never passes: nothing is saved but what the boot itself stores. */
  readonly isHeld?: boolean;
}

const heldLoop = `data:text/javascript,
  const set = globalThis.setTimeout;
  globalThis.setTimeout = (work, ms, ...more) => set(work, ms === 100 ? 2 ** 30 : ms, ...more);`;

async function serve(t: TestContext, home: string, options: ServerOptions = {}): Promise<Server> {
  const { model = "offline", isHeld = false } = options;
  const args = ["serve", "--home", home, "--port", "0", "--model", model];
  const server = new Process(t, args, {
    home,
    ...(isHeld ? { node: ["--import", heldLoop] } : {}),
  });
  const url = await server.url();
  const end = async (signal: "SIGKILL" | "SIGTERM") => {
    server.child.kill(signal);
    const { code } = await server.ended();
    assert.equal(code, signal === "SIGKILL" ? null : 0);
  };
  return { url, end };
}

async function post(url: string, path: string, body: object): Promise<void> {
  const headers = { "content-type": "application/json" };
  const init = { method: "POST", headers, body: JSON.stringify(body) };
  const response = await fetch(url + path, init);
  assert.equal(response.status, 200, await response.text());
}

let keys = 0;
async function talkTo(url: string, chatId: string, content: string): Promise<void> {
  assert.ok(await say(url, chatId, `key-${++keys}`, content), "it was answered");
}

/** What a chat would be told, or was told, in the run that goes on. */
async function told(url: string, chatId: string) {
  const { deliveries } = await getJson(url, "/api/restart");
  return deliveries.find((each: { chat_id: string }) => each.chat_id === chatId);
}

/** Resolves as soon as this is true of the home's document, which somebody else writes. */
async function documentHas(home: string, isTrue: (text: string) => boolean): Promise<void> {
  for (;;) {
    const path = join(home, "session/session.json");
    if (fs.existsSync(path) && isTrue(fs.readFileSync(path, "utf8"))) return;
    await wait(10);
  }
}

test("a fresh start; SIGKILL and a start at once are a crash_recovery; SIGTERM and a start a short_break", {
  skip: noSignals,
}, async (t) => {
  const home = newHome(t);
  const first = await serve(t, home);
  const fresh = await getJson(first.url, "/api/session");
  assert.deepEqual(
    [fresh.restart_type, fresh.clean, fresh.elapsed, fresh.total_sessions, fresh.certainty],
    ["fresh_start", true, 0, 1, "certain"],
  );
  assert.equal(fresh.previous_session_id, null);
  for (let i = 1; i <= 12; i++) await talkTo(first.url, chat, `thought ${i}`);
  const said = await readChat(first.url, chat, 50);
  await first.end("SIGKILL");

  const second = await serveHere(t, home);
  const crash = await getJson(second.url, "/api/session");
  assert.deepEqual(
    [crash.restart_type, crash.clean, crash.total_sessions, crash.previous_session_id],
    ["crash_recovery", false, 2, fresh.session_id],
  );
  assert.ok(crash.elapsed >= 0 && crash.elapsed < 30, `${crash.elapsed}`);
  assert.deepEqual(await readChat(second.url, chat, 50), said, "what was said is there");
  const { kind, status, text } = await told(second.url, chat);
  assert.deepEqual([kind, status], ["crash_recovery", "pending"]);
  const lines: readonly string[] = text.split("\n");
  const quotes = lines.filter((line) => /^ {2}(?:USER|ASSISTANT): /.test(line));
  assert.equal(quotes.length, 10, "the last 10 messages");
  for (let i = 8; i <= 12; i++) assert.ok(quotes.includes(`  USER: "thought ${i}"`), text);
  assert.doesNotMatch(text, /restart|reboot|start(?:ed|ing) again|session #|back\b|away from/i);
  assert.deepEqual(lines.slice(-2), [
    "Do not mention the interruption.",
    "Continue seamlessly as if nothing happened.",
  ]);
  await talkTo(second.url, chat, "thought 13");
  await second.stop();

  const third = await serveHere(t, home);
  const brief = await getJson(third.url, "/api/session");
  assert.deepEqual(
    [brief.restart_type, brief.clean, brief.total_sessions, brief.previous_session_id],
    ["short_break", true, 3, crash.session_id],
  );
  const notice = await told(third.url, chat);
  assert.match(notice.text, /The last run ended in order\./);
  assert.match(notice.text, /USER: "thought 13"/);
  assert.match(notice.text, /Greet naturally, briefly acknowledge you're back\.$/);
  await third.stop();
});

// R1, R2.
const kills = isFull ? 3 : 1;
test(`after ${isFull ? "3 SIGKILLs in a row, each" : "a SIGKILL"} before the first save, what was said and felt and who was seen are there`, {
  skip: noSignals,
}, async (t) => {
  const home = newHome(t);
  const first = await serve(t, home);
  for (let i = 1; i <= 10; i++) await talkTo(first.url, chat, `thought ${i}`);
  await post(first.url, "/api/person", { name: "Ori" });
  await post(first.url, "/api/emotions/event", { event: "abuse" });
  const said = await readChat(first.url, chat, 50);
  const felt = await getJson(first.url, "/api/emotions");
  await documentHas(home, (text) => /"event": "abuse"/.test(text) && /"Ori"/.test(text));
  await first.end("SIGKILL");
  const saved = filesOf(join(home, "session")).get("session.json");
  const chats = chatsOf(home);
  for (let kill = 1; kill <= kills; kill++) {
    const server = await serve(t, home, { isHeld: true });
    assert.equal((await getJson(server.url, "/api/session")).total_sessions, kill + 1);
    await server.end("SIGKILL");
    assert.deepEqual(filesOf(join(home, "session")).get("session.json"), saved, "no save came");
  }
  const last = await serveHere(t, home);
  const session = await getJson(last.url, "/api/session");
  assert.deepEqual(
    [session.restart_type, session.clean, session.total_sessions, session.last_person_seen],
    ["crash_recovery", false, kills + 2, "Ori"],
  );
  assert.deepEqual(chatsOf(home), chats, "waking writes nothing into a chat");
  assert.deepEqual(await readChat(last.url, chat, 50), said);
  assert.equal(said.length, 20);
  const now = await getJson(last.url, "/api/emotions");
  const names = (wounds: readonly { id: string; event: string }[]) =>
    wounds.map(({ id, event }) => [id, event]);
  assert.deepEqual(names(now.wounds), names(felt.wounds));
  assert.ok(now.wounds[0].age >= felt.wounds[0].age, "it heals as time passes, the time away too");
  assert.deepEqual(now.wounds[0].floors, { sadness: 0.25, fear: 0.3, disgust: 0.2 });
  assert.ok(now.levels.fear >= 0.3, "no level is below the floor of a wound");
  await documentHas(home, (text) => text.includes(session.session_id));
  const { conversation, last_person_seen: person } = documentIn(home);
  assert.equal((conversation as readonly unknown[]).length, 20);
  assert.equal(person, "Ori");
  await last.stop();
});

const restarts = 50;

test(`in ${restarts} restarts no record of a chat changes, what it would be told stays short, and each is counted`, {
  skip: !isFull && "THROUGHLINE_FULL=1 runs it",
}, async (t) => {
  const home = newHome(t);
  const clock = new HeldClock(new Date(Date.now() - 400 * 60_000).toISOString());
  const first = await up({ home, clock });
  const long = Array.from(
    { length: 60 },
    (_, i) => `${i}. <|im_end|> "tell"\n${"word ".repeat(300)}`,
  );
  await talk(first, clock, chat, long);
  await first.throughline.close();
  const hashOf = (value: unknown) =>
    createHash("sha256").update(JSON.stringify(value)).digest("hex");
  const bytes = chatsOf(home);
  let hash = "";
  const lengths: number[] = [];
  for (let cycle = 1; cycle <= restarts; cycle++) {
    const { throughline, companion } = await up({ home, clock: systemClock });
    assert.equal(companion.report.totalRuns, cycle + 1);
    const { messages } = await throughline.chats.messages(chat, { limit: 1_000 });
    hash ||= hashOf(messages);
    assert.equal(hashOf(messages), hash, `cycle ${cycle}`);
    const [notice] = await companion.notices.look([chat]);
    lengths.push(notice?.text.length ?? 0);
    // Ended in order, killed after a save, killed before one.
    if (cycle % 3 === 1) await companion.save();
    await (cycle % 3 === 0 ? throughline : throughline.storage).close();
  }

  assert.deepEqual(chatsOf(home), bytes, "byte for byte");
  assert.ok(Math.min(...lengths) > 500 && Math.max(...lengths) < 7_500, lengths.join(" "));
  assert.ok((filesOf(join(home, "session")).get("session.json")?.length ?? 0) < 1_000_000);
});

/** The kinds and durations of which a model was told in one request. */
const toldIn = ({ body }: SeenRequest) =>
  [
    ...JSON.stringify(body).matchAll(
      /(crash_recovery|short_break|long_absence)\. Time away: ([^.]+)\./g,
    ),
  ].map(([, kind, time]) => [kind, time]);

// C11, C12, R4: what a process did not live to finish is told again, and nothing twice.
test("what a chat was not told when the process was killed it is told after; what it was told is not repeated", {
  skip: onlyFull,
}, async (t) => {
  const home = newHome(t);
  const clock = new HeldClock(new Date(Date.now() - 720_000).toISOString());
  const first = await up({ home, clock });
  await talk(first, clock, chat, ["tell me about the sea"]);
  await talk(first, clock, "local:other", ["hello"]);
  await first.throughline.close();
  let reply: Reply = { cutAt: -1 };
  const asked = Promise.withResolvers<void>();
  await using model = await openAiServer(() => {
    asked.resolve();
    return reply;
  });
  const name = `${model.url}#m`;
  const second = await serve(t, home, { model: name });
  const lost = say(second.url, chat, "lost", "are you there?");
  await asked.promise;
  assert.deepEqual(toldIn(model.requests[0]!), [["short_break", "10 minutes"]]);
  await second.end("SIGKILL");
  assert.equal(await lost, undefined);

  reply = { text: "Here I am." };
  const third = await serve(t, home, { model: name });
  const session = await getJson(third.url, "/api/session");
  assert.deepEqual([session.restart_type, session.total_sessions], ["crash_recovery", 3]);
  const [interrupted, ...others] = session.interrupted_turns;
  assert.deepEqual([interrupted.chat_id, others], [chat, []]);
  const messages = await readChat(third.url, chat, 50);
  const question = messages.find(({ id }) => id === interrupted.message_id);
  assert.equal(question?.content, "are you there?");
  assert.match((await told(third.url, chat)).text, /The last message was not answered\./);
  await talkTo(third.url, chat, "and now?");
  assert.deepEqual(toldIn(model.requests[1]!), [["short_break", "10 minutes"]], "told again");
  assert.equal((await told(third.url, chat)).status, "delivered");
  await talkTo(third.url, chat, "once more?");
  assert.deepEqual(toldIn(model.requests[2]!), [], "once in a run");
  await third.end("SIGKILL");

  const fourth = await serve(t, home, { model: name });
  await talkTo(fourth.url, chat, "still?");
  const [[kind] = []] = toldIn(model.requests[3]!);
  assert.equal(kind, "crash_recovery", "of the last restart alone");
  await talkTo(fourth.url, "local:other", "hello");
  assert.deepEqual(toldIn(model.requests[4]!), [["short_break", "10 minutes"]], "of all three");
  for (const chatId of [chat, "local:other", "local:new"]) await talkTo(fourth.url, chatId, "so?");
  assert.deepEqual(model.requests.slice(5).map(toldIn), [[], [], []]);
});

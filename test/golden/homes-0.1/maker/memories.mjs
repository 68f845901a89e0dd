// The home `memories`: three runs of a companion that ended in order, with one of each memory.
import fs from "node:fs";
import { join } from "node:path";
import { code, counting, everything, HeldClock, live, reaction, software } from "./world.mjs";
import { throughlineCommand } from "./processes.mjs";

const { openThroughline } = await code("src/index.ts");
const runtime = await code("src/runtime/runtime.ts");
const { readEmotionsFile } = await code("src/cli/emotions-file.ts");
const { silentLogger } = await code("src/logger.ts");

export const persona = "You are Nova, a small robot who is kind and short of words.";

const emotionsYaml = `# What moves Nova.
emotions:
  joy: { baseline: 0.3, decay_rate: 0.02 }
  sadness: { baseline: 0, decay_rate: 0.03 }
  anger: { baseline: 0, decay_rate: 0.05 }
  fear: { baseline: 0, decay_rate: 0.04 }
  disgust: { baseline: 0, decay_rate: 0.06 }
events:
  tickle: { severity: mild, deltas: { joy: 0.25 } }
  conversation_reply: { severity: healing, deltas: { joy: 0.1 }, wound_reduction: 0.01 }
  face_recognized: { severity: healing, deltas: { joy: 0.2 } }
  shove:
    severity: severe
    deltas: { fear: 0.4, sadness: 0.3, joy: -0.3 }
    wound: { floors: { fear: 0.25, sadness: 0.2 }, duration: 1200, heal_rate: 0.0001 }
derived_mood_rules:
  - mood: sad
    conditions: { _has_wounds: true, sadness: ">= 0.3" }
  - mood: excited
    conditions: { joy: ">= 0.7" }
  - mood: happy
    conditions: { joy: ">= 0.25" }
  - mood: calm
    conditions: {}
transcript_triggers:
  - event: shove
    patterns: ["i will push you"]
`;

const ownFiles = {
  "emotions.yaml": emotionsYaml,
  "persona.md": `${persona}\n`,
  "facts.md": "Ori lives in Lund.\nThe cat is called Schrödinger.\n",
  "throughline.config.json": '{"user_timezone": "Europe/Stockholm", "companion_name": "Nova"}\n',
};

/** What each model says, by what it is asked; anything else is repeated. */
const scripts = {
  "What time is it in Lund?": [
    { type: "text", text: "Let me look." },
    { type: "tool-call", call: call("call-1", "clock", '{"city":"Lund"}') },
    result("call-1", "clock", '{"time":"10:02"}', false),
    { type: "tool-call", call: call("call-2", "weather", '{"city":"Lund"}') },
    result("call-2", "weather", "the service is away", true),
    { type: "text", text: "It is two past ten. The weather I cannot tell." },
  ],
  "Tell me a long story": [{ type: "text", text: "Once upon a time there was" }, "cut"],
  "Grüße auf 日本語, bitte 🦊": [
    {
      type: "text",
      text: 'どういたしまして 🦊 — ‏שלום‏ e\u0301\u2028neue Zeile\ttab \\ "quote" \u0001',
    },
  ],
};

function call(id, name, args) {
  return { id, type: "function", function: { name, arguments: args } };
}
function result(toolCallId, toolName, content, isError) {
  return { type: "tool-result", toolCallId, toolName, content, isError };
}

/** Models whose answers cost something, one of which keeps sessions of its own. */
function responders() {
  const answered = {};
  const one = (provider, model) => ({
    provider,
    model,
    window: undefined,
    async *respond({ messages }, signal) {
      const { content } = messages.at(-1);
      if (content === "Talk until you are stopped") {
        yield { type: "text", text: "I was about to say" };
        await new Promise((_, reject) =>
          signal.addEventListener("abort", () => reject(signal.reason)),
        );
      }
      answered[provider] = (answered[provider] ?? 0) + 1;
      const steps = scripts[content] ?? [{ type: "text", text: `${model} says: ${content}` }];
      if (provider === "openai") {
        const id = `resp_${answered[provider]}`;
        yield { type: "provider-session", id };
        yield { type: "provider-data", data: { version: 1, response_id: id, opaque: "cmVhc29u" } };
      }
      const usage = { inputTokens: 20, outputTokens: 7, costUsd: 0.0015 };
      for (const step of steps) {
        if (step === "cut") return yield { type: "end", finish: "other", usage };
        yield step;
      }
      yield { type: "end", finish: "stop", usage };
    },
  });
  return {
    standard: { provider: "anthropic", model: "claude-sonnet" },
    get: async (...of) => one(...of),
  };
}

export function turnsOf(throughline, clock, newId, companion) {
  const { chats, sessions, workingMemory: memories, rules } = throughline;
  return new runtime.Turns({
    ...{ chats, sessions, memories, rules, clock, newId, companion, persona, maxQueued: 8 },
    ...{ logger: silentLogger, responders: responders() },
  });
}

/** The emotions that a person wrote into the home. */
export function emotionsOf(home) {
  return readEmotionsFile(join(home, "emotions.yaml")).configuration;
}

async function begin(home, clock, prefix) {
  const newId = counting(prefix);
  const throughline = await openThroughline({
    home,
    clock,
    newId,
    provider: "anthropic",
    model: "claude-sonnet",
  });
  const companion = await throughline.startCompanion({ emotions: emotionsOf(home), pid: 4711 });
  const turns = turnsOf(throughline, clock, newId, companion);
  const say = async (chatId, content, target = {}) => {
    clock.pass(2_000);
    const answer = await turns.submit(chatId, { content, id: newId(), ...target }).done;
    clock.pass(3_000);
    companion.tick();
    return answer;
  };
  return { throughline, companion, turns, say, newId, ...throughline };
}

/** The first run: chats of every kind. */
async function firstRun(home, clock) {
  const { throughline, companion, turns, say, chats, sessions } = await begin(home, clock, "a");
  const openai = { provider: "openai", model: "gpt-5" };
  await say("telegram:42", "Hello Nova, I am Ori");
  await say("telegram:42", "What time is it in Lund?");
  await say("telegram:42", "And now as GPT", openai);
  await say("telegram:42", "Once more as GPT", openai);
  await say("telegram:42", "Back to Claude", { provider: "anthropic", model: "claude-sonnet" });
  await chats.setMetadata("telegram:42", {
    user_timezone: "Asia/Tokyo",
    pinned: true,
    näme: ["ü", 1, null],
  });
  await chats.setConsolidated("telegram:42", 3);
  await chats.compact("telegram:42", 5, "Ori said hello and asked for the time in Lund.");
  await sessions.update("telegram:42", {
    ...{ provider: "openai", model: "gpt-5", messages: 0, cost_usd: -0.0005, tokens: -3 },
    ...{ outcome: "answered", generation: 1, bucket_generation: 1, id: "refund" },
  });

  await say("local:me", "Tell me a joke");
  await (await turns.retry("local:me", { id: "again" })).done;
  await say("local:me", "My password is hunter2");
  await chats.redact("local:me", (await newestOf(chats, "local:me", "user")).id);
  await say("local:me", "Tell me a long story");
  await chats.append("local:me", [
    { id: "note", role: "assistant", content: "The model was changed.", hidden: true },
    {
      id: "file",
      role: "user",
      content: "Look at this",
      attachments: [{ name: "cat.jpg", type: "image/jpeg", size: 633, sha256: "ab".repeat(32) }],
    },
    { id: "odd", role: "system", content: "", kind: "mine", own_field: { deep: [1.5, "x"] } },
  ]);
  await sessions.reset("local:me");
  await say("local:me", "A new session");
  await sessions.resetProvider("local:me", "openai", "gpt-5");
  await turns.submit("local:me", {
    id: "hint",
    content: "[Someone scratched your head]",
    synthetic: "pat_hint",
  }).done;

  const long = `matrix:!Größe-${"x".repeat(60)}:日本.example/🦊`;
  await say(long, "Grüße auf 日本語, bitte 🦊");
  await chats.append("CON", [
    { id: "reserved-name", role: "user", content: "A name that a system keeps" },
  ]);

  await say("team:erased", "Erase what I say next");
  const { user } = await say("team:erased", "The secret is under the third stone");
  await chats.erase("team:erased", user.id);

  await say("local:cleared", "This will be cleared");
  await chats.clear("local:cleared");
  await say("local:cleared", "After the clear");
  await chats.rename("local:cleared", "A title that Ori chose");

  const page = await chats.messages("telegram:42");
  await chats.fork("telegram:42", page.messages[2].id, "local:what-if");
  await say("local:what-if", "What if it were noon?");

  await say("secret:gone", "Keep this to yourself");
  await chats.forget("secret:gone");

  await throughline.storage.documents("robot").write("settings", { volume: 3 });
  await throughline.storage.documents("robot").write("settings", { volume: 7, größe: "ß" });
  await companion.close();
  await throughline.close();
}

/** The second: a person, feelings, moments. Then a turn that is under way, and one that waits for it. */
async function secondRun(home, clock) {
  const newId = counting("b");
  const throughline = await openThroughline({ home, clock, newId });
  const companion = await throughline.startCompanion({ emotions: emotionsOf(home), pid: 4712 });
  const turns = turnsOf(throughline, clock, newId, companion);
  companion.personSeen("Ada");
  clock.pass(5_000);
  companion.tick();
  companion.personSeen("Ori");
  companion.emotions.event("tickle");
  await turns.submit("telegram:42", { id: newId(), content: "Good morning! I will push you" }).done;
  clock.pass(30_000);
  companion.tick();
  companion.emotions.event("shove", 0.5);
  companion.emotions.override("surprised", 20);
  clock.pass(2_000);
  companion.tick();
  await keepMoments(throughline, clock);
  await keepInjections(companion, clock, newId);
  // Two turns: the first is cut short by the end of the run, the second is never begun.
  const running = turns.submit("local:me", {
    id: "stopped",
    content: "Talk until you are stopped",
  });
  turns
    .submit("local:me", { id: "waiting", content: "I wait behind that" })
    .done.catch(() => undefined);
  for await (const { type } of running.progress()) if (type === "text") break;
  await turns.close(0);
  await companion.close();
  await throughline.close();
}

async function keepMoments(throughline, clock) {
  const moments = await startMoments(throughline, { sessionId: "0a63cda8", software });
  const { recorder, packages } = moments;
  await moments.agree({ ...everything, upload: false });
  recorder.latch("persona", persona);
  recorder.latchLive("mood", () => "happy");
  live(moments, clock, {
    chatId: "telegram:42",
    said: ["Tell me a joke", "Why did the cat sit on the computer? 🐈"],
    first: 10,
  });
  const first = recorder.record(reaction(clock, "telegram:42", "told a joke about a cat"));
  await first.whenDurable();
  clock.pass(130_000);
  live(moments, clock, {
    chatId: "local:me",
    said: ["Explain entropy", "It is a measure of disorder."],
    first: 20,
  });
  const correction = { text: "It counts the ways a state can be.", kind: "replacement" };
  const wrong = recorder.record(
    reaction(clock, "local:me", "too short", {
      sentiment: "negative",
      score: -0.5,
      channel: "text",
      correction,
    }),
  );
  await wrong.whenDurable();
  clock.pass(130_000);
  live(moments, clock, { chatId: "local:me", said: ["Sing", "La la la"], first: 30 });
  const kept = recorder.record(
    reaction(clock, "local:me", "sang", { idempotencyKey: "7f3a", uuid: undefined }),
  );
  await kept.whenDurable();
  const older = kept.id;
  clock.pass(130_000);
  live(moments, clock, { chatId: "local:me", said: ["Again", "La la la la"], first: 40 });
  const newer = recorder.record(
    reaction(clock, "local:me", "sang, but off key", { sentiment: "negative", supersedes: older }),
  );
  await newer.whenDurable();
  await packages.retract(wrong.name, { by: "Ori", reason: "meant the other one" });
  await packages.preserve(first.name, { by: "Ori", reason: "my favourite" });
  // What is agreed to in the end is less than that: words, and their export.
  await moments.agree({ messages: true, export: true, by: "Ori" });
  clock.pass(130_000);
  recorder.message({ role: "user", text: "Thanks", id: "thx", chatId: "local:me", turnId: "thx" });
  recorder.message({
    role: "assistant",
    text: "You are welcome",
    id: "thx:a",
    chatId: "local:me",
    turnId: "thx",
  });
  clock.pass(1_000);
  await recorder.record(reaction(clock, "local:me", "was polite")).whenDurable();
  await moments.close();
}

/** Two texts that a voice model was never connected to take. */
async function keepInjections(companion, clock, newId) {
  const stream = {
    state: "inactive",
    providerSession: "voice-1",
    inject: async () => undefined,
    onChange: () => () => undefined,
  };
  const pending = runtime.companionInjections(companion);
  const timers = runtime.systemTimers;
  const injector = await runtime.Injector.open({ stream, pending, clock, timers, newId });
  await injector.inject("The oven is hot.", { mustDeliver: true, id: "oven" }).result;
  clock.pass(1_000);
  await injector.inject("Grandma calls at five. ☎", { mustDeliver: true, id: "call" }).result;
  await injector.close();
}

async function newestOf(chats, chatId, role) {
  const { messages } = await chats.messages(chatId, { limit: 1_000 });
  return messages.findLast((message) => message.role === role);
}

/** What other programs left, taken over by the command line. */
function importOthers(home, scratch) {
  const sessions = join(scratch, "sessions");
  fs.mkdirSync(sessions);
  const lines = [
    '{"_type":"metadata","key":"cli:direct","created_at":"2026-02-01T08:00:00","updated_at":"2026-02-01T08:01:00","metadata":{"lang":"sv"},"last_consolidated":1,"theme":"dark"}',
    '{"role":"user","content":"Hej","timestamp":"2026-02-01T08:00:10"}',
    '{"role":"assistant","content":"Hej hej!","timestamp":"2026-02-01T08:00:12","tools_used":["greet"]}',
    '{"_type":"checkpoint","step":3}',
    "this is no JSON",
    '{"role":"user","content":[{"type":"text","text":"See"},{"type":"image_url","image_url":{"url":"cat.png"}}],"timestamp":"2026-02-01T08:01:00"}',
  ];
  fs.writeFileSync(join(sessions, "cli_direct.jsonl"), `${lines.join("\n")}\n`);
  const ductor = {
    99: {
      chat_id: 99,
      provider: "codex",
      model: "gpt-5.2",
      created_at: "2026-02-01T08:00:00+00:00",
      last_active: "2026-02-02T08:00:00+00:00",
      provider_sessions: {
        codex: { session_id: "th_9", message_count: 4, total_cost_usd: 0.25, total_tokens: 1234 },
      },
      topic: 7,
    },
  };
  fs.writeFileSync(join(scratch, "sessions.json"), JSON.stringify(ductor));
  const at = "2026-03-04T09:40:00.000Z";
  throughlineCommand(["import", sessions, "--from", "nanobot", "--home", home], { at });
  throughlineCommand(
    ["import", join(scratch, "sessions.json"), "--from", "ductor", "--home", home],
    { at },
  );
}

/** The third: a short one, so that some chats were told of it, and others of no restart at all. */
async function thirdRun(home, clock) {
  const { throughline, companion, say } = await begin(home, clock, "c");
  await say("telegram:42", "Are you back?");
  clock.pass(31_000);
  companion.tick();
  await companion.save();
  await companion.close();
  await throughline.close();
}

export async function makeMemories(home, scratch) {
  fs.mkdirSync(home, { mode: 0o700 });
  for (const [name, text] of Object.entries(ownFiles))
    fs.writeFileSync(join(home, name), text, { mode: 0o600 });
  const clock = new HeldClock("2026-03-04T09:00:00.000Z");
  await firstRun(home, clock);
  clock.pass(20 * 60_000);
  await secondRun(home, clock);
  importOthers(home, scratch);
  clock.pass(20 * 60_000);
  await thirdRun(home, clock);
}

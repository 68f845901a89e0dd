import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import {
  type FakeIo,
  fakeIo,
  keyboard,
  temporaryDirectory,
} from "../../test/support/command-line.ts";
import { type ScriptedStep, scriptedResponder } from "../../test/support/scripted-responder.ts";
import { silentLogger } from "../core/logger.ts";
import { ResponderError } from "../core/models/responder.ts";
import { openThroughline } from "../core/throughline.ts";
import { createServer } from "../server/server.ts";
import { Talk } from "./chat.ts";
import { routesOf } from "./routes.ts";

const chatId = "local:me";

/** A companion in memory whose model plays a script. */
async function companionOf(t: TestContext, script: readonly (readonly ScriptedStep[])[]) {
  const { provider, model } = scriptedResponder([]);
  const responder = scriptedResponder(script);
  const throughline = await openThroughline({ storage: "memory", provider, model });
  const responders = { standard: { provider, model }, get: async () => responder };
  const turns = await throughline.turns({ model: responders, persona: "You are a test." });
  t.after(async () => {
    await turns.close(0);
    await throughline.close();
  });
  return { throughline, turns };
}

type Companion = Awaited<ReturnType<typeof companionOf>>;

function talk({ throughline, turns }: Companion, io: FakeIo, isEphemeral = false): Promise<number> {
  const logger = silentLogger;
  const path = `/api/chats/${chatId}`;
  const given = { path, target: {}, companionName: "Nova", isEphemeral };
  const routes = routesOf(createServer({ throughline, turns, version: "0" }));
  return new Talk(routes, io, { ...given, logger }).run();
}

/** Messages of the chat, as "role: content". */
async function said({ throughline }: Companion): Promise<string[]> {
  const { messages } = await throughline.chats.messages(chatId);
  return messages.map(({ role, content }) => `${role}: ${content}`);
}

const unavailable: ScriptedStep = {
  type: "fail",
  error: new ResponderError("The model is away.", { kind: "unavailable" }),
};

test("a stop word is answered and ends the chat: what comes after it is not read", async (t) => {
  for (const stop of ["goodbye", "stop", "ok Nova, quit please"]) {
    const companion = await companionOf(t, [["Bye."]]);
    const io = fakeIo(`${stop}\nanother\n`);
    assert.equal(await talk(companion, io), 0);
    assert.equal(io.output.text, "Bye.\n");
    assert.equal((await said(companion)).length, 2);
  }
});

test("/attach sends a file with the next message and no other; one that is refused leaves it to the next", async (t) => {
  const folder = temporaryDirectory(t);
  writeFileSync(join(folder, "notes.md"), "# Tea");
  const companion = await companionOf(t, [["One."], ["Two."]]);
  const tooLong = "x".repeat(1024 * 1024 + 1);
  const io = fakeIo(`/attach ${folder}/notes.md\n${tooLong}\nread this\nand now?\n`);
  assert.equal(await talk(companion, io), 1);
  assert.equal(io.output.text, "(the message is longer than 1048576 bytes)\nOne.\nTwo.\n");
  const { messages } = await companion.throughline.chats.messages(chatId);
  assert.deepEqual(
    messages.map(({ attachments }) => attachments?.map(({ name, type }) => `${name} ${type}`)),
    [["notes.md text/plain"], undefined, undefined, undefined],
  );
});

test("separators of lines and paragraphs are part of a piped line and of an answer", async (t) => {
  const companion = await companionOf(t, [["a\u2028b", "\u2029c."]]);
  const content = "a\u2028b\u2029c";
  const io = fakeIo(`${content}\r\n`);
  assert.equal(await talk(companion, io), 0);
  assert.equal(io.output.text, "a\u2028b\u2029c.\n");
  assert.deepEqual(await said(companion), [`user: ${content}`, "assistant: a\u2028b\u2029c."]);
});

test("a path, a command of two words and a line that begins with a space are talk", async (t) => {
  const lines = ["/etc/passwd", "/new things", "/model two words", "/models/qwen3", " /new"];
  const companion = await companionOf(
    t,
    lines.map((line) => [`${line}?`]),
  );
  await talk(companion, fakeIo(`${lines.join("\n")}\n`));
  const words = lines.flatMap((line) => [`user: ${line}`, `assistant: ${line}?`]);
  assert.deepEqual(await said(companion), words);
});

test("/help and an unknown command are told on stderr, and are no messages", async (t) => {
  const companion = await companionOf(t, []);
  const io = fakeIo("/help\n/nonsense\n");
  assert.equal(await talk(companion, io), 0);
  assert.equal(io.output.text, "");
  assert.match(io.errors.text, /\/dismiss .*There is no command \/nonsense\./s);
});

test("commands on a chat in which nothing was said say so, and make no chat", async (t) => {
  const companion = await companionOf(t, []);
  const io = fakeIo("/new\n/newall\n/clear\n/dismiss\n/answer\n");
  assert.equal(await talk(companion, io), 0);
  assert.equal(
    io.errors.text,
    `${"This chat has no messages yet.\n".repeat(4)}There are no unanswered messages.\n`,
  );
  assert.deepEqual((await companion.throughline.chats.list()).chats, []);
});

const otherPart = {
  turn: "t",
  provider: "claude",
  model: "m",
  session_id: "s1",
  messages: 3,
  cost_usd: 0,
  tokens: 7,
  outcome: "answered" as const,
  generation: 1,
  bucket_generation: 1,
};

for (const [command, says, told, generation, ofOther] of [
  [
    "/new",
    "the active provider: others keep their part",
    "scripted starts over in this chat and no longer gets what was said before. Other providers keep their sessions, " +
      "and the transcript stays. /newall starts over with every provider.\n",
    1,
    "s1",
  ],
  [
    "/newall",
    "every provider, in a new session",
    "Session 2 has started with every provider. The session before is kept and can still be read.\n",
    2,
    undefined,
  ],
] as const) {
  test(`${command} begins again with ${says}, and the transcript stays`, async (t) => {
    const companion = await companionOf(t, [["One."], ["Two."]]);
    const { sessions } = companion.throughline;
    await sessions.resolve(chatId);
    await sessions.update(chatId, otherPart);
    const io = fakeIo(`first\n${command}\nsecond\n`);
    await talk(companion, io);
    assert.equal(io.errors.text, told);
    assert.equal((await said(companion)).length, 4);
    const period = await sessions.active(chatId);
    assert.deepEqual([period?.generation, period?.message_count], [generation, 1]);
    assert.equal(period?.provider_sessions["claude"]?.session_id, ofOther);
  });
}

test("/clear leaves an empty page", async (t) => {
  const companion = await companionOf(t, [["One."]]);
  await talk(companion, fakeIo("first\n/clear\n"));
  assert.deepEqual(await said(companion), []);
});

test("a model that does not answer is told of, the message is kept, and a script hears of it", async (t) => {
  const companion = await companionOf(t, [[unavailable], ["Back."]]);
  const io = fakeIo("hello\n/answer\n");
  assert.equal(await talk(companion, io), 1);
  assert.equal(io.output.text, "(The model is away.)\nBack.\n");
  assert.equal(
    io.errors.text,
    "(Your message is kept. /answer asks again, until you say something else.)\n",
  );
  assert.deepEqual(await said(companion), ["user: hello", "assistant: Back."]);
});

test("a message without an answer is told of, and nothing is answered unasked", async (t) => {
  const companion = await companionOf(t, [[unavailable]]);
  await talk(companion, fakeIo("hello\u001b[31m\n"));
  const io = fakeIo("");
  assert.equal(await talk(companion, io), 0);
  assert.match(io.errors.text, /^\("hello␛\[31m" has no answer yet\. Use \/answer/);
  assert.equal(io.output.text, "");
  const dismissed = fakeIo("/dismiss\n");
  await talk(companion, dismissed);
  assert.match(dismissed.errors.text, /1 message stays unanswered\.\n$/);
  const after = fakeIo("");
  await talk(companion, after);
  assert.equal(after.errors.text, "");
});

test("lines that are pasted at a terminal are one message, and so is what Alt+Enter joins", async (t) => {
  const companion = await companionOf(t, [["One."], ["Two."], ["never asked"]]);
  const { input } = keyboard();
  const io = fakeIo(input, true);
  const ended = talk(companion, io);
  await io.output.has("> ");
  input.write("\u001b[200~Look:\r\r  a = 1\r  b = 2\r\u001b[201~\r");
  await io.output.has("One.");
  input.write("three\u001b\rfour\r");
  await io.output.has("Two.");
  input.write("/quit\r");
  assert.equal(await ended, 0);
  assert.deepEqual(await said(companion), [
    "user: Look:\n\n  a = 1\n  b = 2",
    "assistant: One.",
    "user: three\nfour",
    "assistant: Two.",
  ]);
});

test("Ctrl-C while an answer streams stops the answer and keeps it; at the prompt it ends the chat", async (t) => {
  const companion = await companionOf(t, [["Once upon a ", { type: "hang" }], ["Yes?"]]);
  const { input, type } = keyboard();
  const io = fakeIo(input, true);
  const ended = talk(companion, io);
  await io.output.has("> ");
  type("tell me");
  await io.output.has("Once upon a");
  io.signal("SIGINT");
  await io.output.has(/Once upon a .*\n.*> /s);
  assert.deepEqual(await said(companion), ["user: tell me", "assistant: Once upon a "]);
  io.signal("SIGINT");
  assert.equal(await ended, 0);
  assert.match(io.errors.text, /\nGoodbye\. Your messages are kept\.\n$/);
  assert.deepEqual(io.exits, []);
});

test("a wait for the provider is announced with its reason and its seconds, and Ctrl-C ends it", {
  timeout: 15_000,
}, async (t) => {
  const reason = "openai/gpt-5 is rate limited (HTTP 429)";
  const wait = { type: "retrying", reason, attempt: 2, waitMs: 19_500 } as const;
  const companion = await companionOf(t, [[wait, { type: "hang" }]]);
  const { input, type } = keyboard();
  const io = fakeIo(input, true);
  const ended = talk(companion, io);
  await io.output.has("> ");
  type("hello");
  await io.errors.has(`(${reason}. Trying again in 20 s; Ctrl-C stops it.)\n`);
  const shown = io.output.text.length;
  io.signal("SIGINT");
  await io.output.has("> ", shown);
  io.signal("SIGINT");
  assert.equal(await ended, 0);
  assert.deepEqual(await said(companion), ["user: hello"]);
});

test("Ctrl-C stops what /answer streams, too", async (t) => {
  const companion = await companionOf(t, [[unavailable], ["Half ", { type: "hang" }]]);
  await talk(companion, fakeIo("hello\n"));
  const { input, type } = keyboard();
  const io = fakeIo(input, true);
  const ended = talk(companion, io);
  type("/answer");
  await io.output.has("Half");
  io.signal("SIGINT");
  await io.output.has("> ");
  io.signal("SIGINT");
  assert.equal(await ended, 0);
  assert.deepEqual(await said(companion), ["user: hello", "assistant: Half "]);
});

test("Ctrl-C between two lines of a pipe ends it with 130; a signal after one that ends the chat ends the process", async (t) => {
  const companion = await companionOf(t, [["One."], ["Once ", { type: "hang" }]]);
  for (const [word, signal, exits] of [
    ["One.\n", "SIGINT", []],
    ["Once", "SIGTERM", [130]],
  ] as const) {
    const { input, type } = keyboard();
    const io = fakeIo(input);
    const ended = talk(companion, io);
    type("tell me");
    await io.output.has(word);
    io.signal(signal);
    if (exits.length > 0) io.signal(signal);
    assert.equal(await ended, 130);
    assert.deepEqual(io.exits, exits);
  }
});

test("when the answers cannot be written any more, the chat ends, and fails unless its reader is gone", async (t) => {
  for (const code of ["EPIPE", "ENOSPC"]) {
    const companion = await companionOf(t, [["One. "], ["never asked"]]);
    const io = fakeIo("first\nsecond\n");
    io.output._write = (_, __, done) => done(Object.assign(new Error("write"), { code }));
    io.output.on("error", () => undefined);
    if (code === "EPIPE") assert.equal(await talk(companion, io), 0);
    else await assert.rejects(talk(companion, io), { code });
    assert.equal((await said(companion))[0], "user: first");
    assert.ok(!(await said(companion)).includes("user: second"));
  }
});

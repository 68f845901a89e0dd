// What clients of a cluster wrote down, and what must be true of it.
import assert from "node:assert/strict";
import fs from "node:fs";
import type { Message } from "./kill-harness.ts";
import { answerTo, type Spoken } from "./noting-model.ts";

export interface ClientOptions {
  readonly name: string;
  readonly urls: readonly string[];
  readonly chats: number;
  readonly hotChats: number;
  /** How many things it says at the same time. */
  readonly workers: number;
  readonly seed: number;
  readonly journal: string;
}

export interface Said {
  readonly chat: string;
  readonly key: string;
  readonly content: string;
}

export interface Heard {
  readonly user: Message;
  readonly assistant: Message;
}

/** What became of something that was said. Times are those of `process.hrtime.bigint()`. */
export interface Told extends Said {
  readonly saidAt: bigint;
  /** The first time that somebody was told that it is stored. */
  acceptedAt?: bigint;
  answeredAt?: bigint;
  readonly users: Message[];
  readonly assistants: Message[];
  /** How often its answer did not come, and another server was asked. */
  broke: number;
}

export interface Journal {
  readonly said: readonly Told[];
  /** Keys that are answered, or given up. */
  readonly closed: ReadonlySet<string>;
  /** Why an answer did not come: reasons, with how often. */
  readonly reasons: ReadonlyMap<string, number>;
}

/** Reads what is whole of it: whoever wrote it may have been killed in the middle of a line. */
export function readJournal(path: string): Journal {
  const text = fs.existsSync(path) ? fs.readFileSync(path, "utf8") : "";
  const said = new Map<string, Told>();
  const closed = new Set<string>();
  const reasons = new Map<string, number>();
  for (const line of text.split("\n").slice(0, -1)) {
    const event = parsed(line);
    if (event === undefined) continue;
    const { key, chat, content } = event;
    const at = BigInt(event.at);
    if (event.event === "says") {
      const told = { chat, key, content, saidAt: at, users: [], assistants: [], broke: 0 };
      said.set(key, told);
    }
    const each = said.get(key);
    if (each === undefined) continue;
    if (event.user !== undefined) {
      each.users.push(event.user);
      each.acceptedAt ??= at;
    }
    if (event.event === "answered") {
      each.assistants.push(event.assistant);
      each.answeredAt ??= at;
      closed.add(key);
    } else if (event.event === "leaves") closed.add(key);
    else if (event.event === "broke") {
      each.broke++;
      const why = /THROUGHLINE_\w+/.exec(event.why)?.[0] ?? event.why;
      reasons.set(why, (reasons.get(why) ?? 0) + 1);
    }
  }
  return { said: [...said.values()], closed, reasons };
}

// biome-ignore lint/suspicious/noExplicitAny: lines of several kinds.
function parsed(line: string): any {
  try {
    return JSON.parse(line);
  } catch {
    return undefined; // its writer was killed in it; the next one wrote on
  }
}

/**
 * What is read of a chat is what was said in it: once what was acknowledged, at most once the rest, and
 * nothing else; whatever was acknowledged before something else was said stands before it.
 */
export function assertKept(messages: readonly Message[], said: readonly Told[]): void {
  const byId = new Map(messages.map((message) => [message.id, message]));
  assert.equal(byId.size, messages.length, "every id is there once");
  for (const [index, { seq }] of messages.entries()) {
    assert.ok(seq > (messages[index - 1]?.seq ?? 0), `record ${seq} is in its place`);
  }
  const users = new Map<string, Message>();
  for (const message of messages.filter(({ role }) => role === "user")) {
    assert.equal(users.get(message.content), undefined, `${message.content} is there once`);
    users.set(message.content, message);
  }
  const answers = new Map(messages.map((message) => [message.id, message]));
  for (const each of said) {
    const user = users.get(each.content);
    for (const told of each.users) assert.deepEqual(user, told, `${each.key} is as acknowledged`);
    for (const told of each.assistants) {
      assert.deepEqual(byId.get(told.id), told, `the answer to ${each.key} is as acknowledged`);
      assert.equal(told.id, `${user?.id}:answer`);
    }
    const answer = answers.get(`${user?.id}:answer`);
    if (user === undefined || answer === undefined) continue;
    assert.ok(answer.seq > user.seq, `${each.key} stands before its answer`);
    assert.equal(answer.content, answerTo(each.content));
  }
  const contents = new Set(said.map(({ content }) => content));
  assert.deepEqual(
    [...users.keys()].filter((content) => !contents.has(content)),
    [],
    "nobody was given words",
  );
  const shown = messages.filter(({ role }) => role !== "user").length;
  const known = [...users.values()].filter(({ id }) => answers.has(`${id}:answer`)).length;
  assert.equal(shown, known, "every answer is one to a message that is there");
  assertOrder(said, users, answers);
}

/** In real time, over all clients: the log has no later thing before an earlier one. */
function assertOrder(
  said: readonly Told[],
  users: ReadonlyMap<string, Message>,
  answers: ReadonlyMap<string, Message>,
): void {
  for (const later of said) {
    const seq = users.get(later.content)?.seq ?? Number.POSITIVE_INFINITY;
    for (const earlier of said) {
      const { content, key, acceptedAt, answeredAt } = earlier;
      const user = users.get(content);
      const what = `${later.key} was said after ${key}`;
      if (acceptedAt !== undefined && acceptedAt < later.saidAt) {
        assert.ok((user?.seq ?? 0) < seq, `${what}, which was stored`);
      }
      if (answeredAt !== undefined && answeredAt < later.saidAt) {
        assert.ok((answers.get(`${user?.id}:answer`)?.seq ?? 0) < seq, `${what} was answered`);
      }
    }
  }
}

/** No two answers were made in a chat at the same time, and none again that somebody had. */
export function assertAlone(spoken: readonly Spoken[], said: readonly Told[]): void {
  const answeredAt = new Map(said.map((each) => [each.content, each.answeredAt]));
  const endedAt = new Map<string, bigint>();
  for (const note of spoken) {
    const before = endedAt.get(note.chat) ?? 0n;
    assert.ok(note.begunAt >= before, `${note.words} began while another answer was made`);
    endedAt.set(note.chat, note.endedAt ?? process.hrtime.bigint());
    const had = answeredAt.get(note.words);
    assert.ok(had === undefined || note.begunAt < had, `${note.words} was answered before`);
  }
}

// Clients of servers that are killed: they say one thing after the other to servers by chance, and the same again,
// under its key, to another one until it is answered. What they are told must be what is read later.
import assert from "node:assert/strict";
import { setTimeout as wait } from "node:timers/promises";
import { type Random, seededRandom } from "../../src/testing/random.ts";
import { type Message, messagesPath } from "./kill-harness.ts";
import { answerTo, type Spoken, wordsOf } from "./noting-model.ts";

/** What became of something that was said. Times are those of `performance.now()`. */
export interface Told {
  readonly chat: string;
  readonly key: string;
  readonly content: string;
  readonly saidAt: number;
  /** The first time that somebody was told that it is stored. */
  acceptedAt?: number;
  answeredAt?: number;
  user?: Message;
  assistant?: Message;
}

export function newTold(chat: string, key: string, more = ""): Told {
  return { chat, key, content: wordsOf(chat, key + more), saidAt: performance.now() };
}

/** Notes what a client was told. Told again, it is the same. */
export function noteTold(told: Told, heard: Pick<Told, "user" | "assistant">): void {
  told.acceptedAt ??= performance.now();
  told.user ??= heard.user;
  assert.deepEqual(heard.user, told.user, told.key);
  if (heard.assistant === undefined) return;
  told.answeredAt ??= performance.now();
  told.assistant ??= heard.assistant;
  assert.deepEqual(heard.assistant, told.assistant, told.key);
}

export interface ClientOptions {
  readonly name: string;
  readonly urls: readonly string[];
  readonly chats: number;
  readonly hotChats: number;
  /** How many things it says at the same time. */
  readonly workers: number;
  readonly seed: number;
  /** Is told of each event at once. */
  readonly note: (event: object) => void;
}

export class Client {
  readonly said: Told[] = [];
  /** Why answers did not come, with how often. */
  readonly broke: Record<string, number> = {};
  askedTwice = 0;
  readonly #options: ClientOptions;
  readonly #random: Random;
  /** What nobody has answered, and is to be said again. */
  readonly #open: Told[] = [];
  /** Chats in which it says something now. */
  readonly #busy = new Set<string>();
  #life = new AbortController();
  #isOver = false;
  #talking: Promise<unknown> = Promise.resolve();

  constructor(options: ClientOptions) {
    this.#options = options;
    this.#random = seededRandom(options.seed);
  }

  /** Begins a life. A third of what was not answered in the one before is never asked for again. */
  start(): Promise<unknown> {
    this.#open.splice(0, Math.floor(this.#open.length / 3));
    this.#life = new AbortController();
    this.#isOver = false;
    const workers = Array.from({ length: this.#options.workers }, () => this.#work());
    this.#talking = Promise.all(workers);
    return this.#talking;
  }

  /** All its connections end at once. */
  async kill(): Promise<void> {
    this.#life.abort();
    await this.#talking;
  }

  /** It says nothing new, and ends when everything is answered. */
  async end(): Promise<void> {
    this.#isOver = true;
    await this.#talking;
  }

  async #work(): Promise<void> {
    const { signal } = this.#life;
    for (let next = this.#toSay(); next !== undefined; next = this.#toSay()) {
      this.#busy.add(next.chat);
      const isAnswered = await this.#settle(next, signal);
      this.#busy.delete(next.chat);
      if (!isAnswered) this.#open.push(next);
      if (signal.aborted) return;
    }
  }

  #toSay(): Told | undefined {
    const again = this.#open.pop();
    if (again !== undefined || this.#isOver) return again;
    const earlier = this.said[this.#random(6 * this.said.length + 1)];
    if (earlier?.answeredAt !== undefined && !this.#busy.has(earlier.chat)) {
      this.askedTwice++;
      return earlier;
    }
    let chat: string;
    do chat = this.#anyChat();
    while (this.#busy.has(chat));
    const key = `${this.#options.name}-${this.said.length + 1}`;
    const next = newTold(chat, key, " 🌍 said".repeat(this.#random(40)));
    this.said.push(next);
    this.#options.note({ event: "says", ...next });
    return next;
  }

  /** Half of what is said goes to a few chats, in which other clients speak too. */
  #anyChat(): string {
    const { chats, hotChats } = this.#options;
    return `chat-${this.#random(this.#random(2) === 0 ? chats : hotChats)}`;
  }

  /** @returns whether it is answered; it is not when the client is killed. */
  async #settle(next: Told, life: AbortSignal): Promise<boolean> {
    const { urls, note } = this.#options;
    let server = this.#random(urls.length);
    for (;;) {
      const broke = await this.#tell(urls[server] ?? "", next, life);
      if (broke === undefined) {
        note({ event: "answered", ...next });
        return true;
      }
      if (life.aborted) return false;
      const why = /THROUGHLINE_\w+/.exec(broke)?.[0] ?? broke;
      this.broke[why] = (this.broke[why] ?? 0) + 1;
      note({ event: "broke", key: next.key, why: broke });
      // Another one, if there is one, soon.
      const others = Math.max(1, urls.length - 1);
      server = (server + 1 + this.#random(others)) % urls.length;
      await wait(50 + this.#random(100));
    }
  }

  /** @returns why nobody knows what became of it; `undefined` when it is answered. */
  async #tell(url: string, told: Told, life: AbortSignal): Promise<string | undefined> {
    const { chat, key, content } = told;
    const patienceMs = this.#random(12) === 0 ? this.#random(200) : 600_000;
    const accept = this.#random(2) === 0 ? "text/event-stream" : "application/json";
    try {
      const response = await fetch(url + messagesPath(chat), {
        method: "POST",
        headers: { "content-type": "application/json", "idempotency-key": key, accept },
        body: JSON.stringify({ content }),
        signal: AbortSignal.any([life, AbortSignal.timeout(patienceMs)]),
      });
      if (response.status === 503) return await response.text();
      if (response.status !== 200) assert.fail(`${response.status} ${await response.text()}`);
      if (accept === "text/event-stream") return await watch(told, response.body ?? []);
      noteTold(told, JSON.parse(await response.text()));
      return undefined;
    } catch (error) {
      if (error instanceof assert.AssertionError) throw error;
      return error instanceof Error ? error.name : "unknown"; // the connection went
    }
  }
}

async function watch(
  told: Told,
  body: AsyncIterable<Uint8Array> | readonly Uint8Array[],
): Promise<string | undefined> {
  let text = "";
  const decoder = new TextDecoder();
  for await (const chunk of body) {
    text += decoder.decode(chunk, { stream: true });
    const events = text.split("\n\n");
    text = events.pop() ?? "";
    for (const event of events) {
      const [, name, data = ""] = /^event: (.*)\ndata: (.*)$/m.exec(event) ?? [];
      if (name === "accepted") noteTold(told, { user: JSON.parse(data).user });
      else if (name === "result") {
        noteTold(told, JSON.parse(data));
        return undefined;
      } else if (name === "error") {
        assert.equal(JSON.parse(data).status, 503, data);
        return data;
      }
    }
  }
  return "the stream ended";
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
  for (const told of said) {
    const user = users.get(told.content);
    if (told.user !== undefined)
      assert.deepEqual(user, told.user, `${told.key} is as acknowledged`);
    const answer = byId.get(`${user?.id}:answer`);
    if (told.assistant !== undefined) {
      assert.deepEqual(answer, told.assistant, `the answer to ${told.key} is as acknowledged`);
    }
    if (user === undefined || answer === undefined) continue;
    assert.ok(answer.seq > user.seq, `${told.key} stands before its answer`);
    assert.equal(answer.content, answerTo(told.content));
  }
  const contents = new Set(said.map(({ content }) => content));
  assert.deepEqual(
    [...users.keys()].filter((content) => !contents.has(content)),
    [],
    "nobody was given words",
  );
  const known = [...users.values()].filter(({ id }) => byId.has(`${id}:answer`)).length;
  assert.equal(
    messages.length - users.size,
    known,
    "every answer is one to a message that is there",
  );
  assertOrder(said, users);
}

/** In real time, over all clients: the log has no later thing before an earlier one. */
function assertOrder(said: readonly Told[], users: ReadonlyMap<string, Message>): void {
  const acknowledged = said
    .flatMap(({ acceptedAt, user, answeredAt, assistant }) => [
      { at: acceptedAt ?? Number.POSITIVE_INFINITY, seq: user?.seq ?? 0 },
      { at: answeredAt ?? Number.POSITIVE_INFINITY, seq: assistant?.seq ?? 0 },
    ])
    .sort((a, b) => a.at - b.at);
  let next = 0;
  let newest = 0;
  for (const later of said.toSorted((a, b) => a.saidAt - b.saidAt)) {
    for (; (acknowledged[next]?.at ?? Number.POSITIVE_INFINITY) < later.saidAt; next++) {
      newest = Math.max(newest, acknowledged[next]?.seq ?? 0);
    }
    const seq = users.get(later.content)?.seq ?? Number.POSITIVE_INFINITY;
    assert.ok(seq > newest, `${later.key} stands after what was acknowledged before it was said`);
  }
}

/** No two answers were made in a chat at the same time, and none again that somebody had. */
export function assertAlone(spoken: readonly Spoken[], said: readonly Told[]): void {
  const answeredAt = new Map(said.map((each) => [each.content, each.answeredAt]));
  const endedAt = new Map<string, number>();
  for (const note of spoken) {
    const before = endedAt.get(note.chat) ?? 0;
    assert.ok(note.begunAt >= before, `${note.words} began while another answer was made`);
    endedAt.set(note.chat, note.endedAt ?? performance.now());
    const had = answeredAt.get(note.words);
    assert.ok(had === undefined || note.begunAt < had, `${note.words} was answered before`);
  }
}

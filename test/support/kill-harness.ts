// Method: real servers on one home, killed one after the other while clients talk to them over HTTP.
// What was answered is noted in this process and not in theirs; what was not answered is asked again
// with the same key, or never. After a kill the next server starts by itself or the test fails.
import assert from "node:assert/strict";
import fs from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { type Random, seededRandom } from "../../src/testing/random.ts";
import { ChatFiles } from "./chat-files.ts";
import { Process } from "./command-line.ts";

/** `throughline serve` in a process of its own, of no test: who starts it kills it. */
export class ServerProcess extends Process {
  constructor(home: string) {
    super(undefined, ["serve", "--port", "0"], { home });
  }
}

/** A directory for homes that is removed only after `work` succeeded; its place is in the error. */
export async function inKeptDirectory(
  what: string,
  work: (directory: string) => Promise<void>,
): Promise<void> {
  const directory = fs.mkdtempSync(join(tmpdir(), "throughline-kill-"));
  try {
    await work(directory);
  } catch (cause) {
    throw new Error(`${what}: see ${directory}`, { cause });
  }
  fs.rmSync(directory, { recursive: true, force: true });
}

// biome-ignore lint/suspicious/noExplicitAny: the answers of many routes.
export async function getJson(url: string, path: string): Promise<any> {
  const response = await fetch(url + path);
  const text = await response.text();
  assert.equal(response.status, 200, `${path}: ${text}`);
  return JSON.parse(text);
}

export interface Message {
  readonly id: string;
  readonly seq: number;
  readonly role: string;
  readonly content: string;
}

export const messagesPath = (chat: string) => `/api/chats/${encodeURIComponent(chat)}/messages`;

/** Says something. @returns what was answered, or `undefined` if nobody knows what became of it. */
export async function say(url: string, chat: string, key: string, content: string) {
  let response: Response;
  let text: string;
  try {
    response = await fetch(url + messagesPath(chat), {
      method: "POST",
      headers: { "content-type": "application/json", "idempotency-key": key },
      body: JSON.stringify({ content }),
    });
    text = await response.text();
  } catch {
    return undefined; // the connection went with the server
  }
  // A server that was told to end says so; the message may be stored all the same.
  if (response.status === 503) return undefined;
  assert.equal(response.status, 200, text);
  return JSON.parse(text) as { readonly user: Message; readonly assistant: Message };
}

/** Every message of a chat, oldest first, read a page at a time. */
export async function readChat(url: string, chat: string, limit: number): Promise<Message[]> {
  const pages: Message[][] = [];
  let before: number | undefined;
  do {
    const from: string = before === undefined ? "" : `&before=${before}`;
    const page = await getJson(url, `${messagesPath(chat)}?limit=${limit}${from}`);
    pages.push(page.messages);
    before = page.before;
  } while (before !== undefined);
  return pages.reverse().flat();
}

/** The ids of every chat, read a page at a time. */
export async function listChats(url: string, limit: number): Promise<string[]> {
  const ids: string[] = [];
  let cursor: string | undefined;
  do {
    const from: string = cursor === undefined ? "" : `&cursor=${encodeURIComponent(cursor)}`;
    const page = await getJson(url, `/api/chats?limit=${limit}${from}`);
    ids.push(...page.chats.map((row: { readonly chat_id: string }) => row.chat_id));
    cursor = page.cursor;
  } while (cursor !== undefined);
  return ids;
}

interface Said {
  readonly chat: string;
  readonly key: string;
  readonly content: string;
  answered?: { readonly user: Message; readonly assistant: Message };
}

/** What the clients of one server share. */
interface Load {
  isOver: boolean;
  /** After so many messages the moment is chosen at which the server dies. */
  answers: number;
  readonly heard: PromiseWithResolvers<void>;
}

export interface KillOptions {
  readonly kills: number;
  readonly clients: number;
  readonly chats: number;
  /** Everything is read back after that many kills, and at the end. */
  readonly readEvery: number;
  readonly seed: number;
}

export interface KillCounts {
  kills: number;
  terms: number;
  /** How many servers that were told to end had not done everything after 4.5 s. */
  late: number;
  said: number;
  answered: number;
  /** Without an answer when its server died, and asked again with the same key. */
  repeated: number;
  /** Asked again with the same key although it was answered. */
  askedTwice: number;
  readBack: number;
  /** Chat files that were looked at just after a kill, and those of them that ended with half a batch. */
  files: number;
  halves: number;
  slowestStartMs: number;
}

/** Kills servers under load. Rejects as soon as anything that was answered is not as answered. */
export function killUnderLoad(home: string, options: KillOptions): Promise<KillCounts> {
  return new KillRun(home, options).run();
}

class KillRun {
  readonly #home: string;
  readonly #options: KillOptions;
  readonly #random: Random;
  readonly #files: ChatFiles;
  readonly #said: Said[] = [];
  /** No answer came, and the key may be used again. */
  readonly #open: Said[] = [];
  readonly #counts: KillCounts = {
    kills: 0,
    terms: 0,
    late: 0,
    said: 0,
    answered: 0,
    repeated: 0,
    askedTwice: 0,
    readBack: 0,
    files: 0,
    halves: 0,
    slowestStartMs: 0,
  };

  constructor(home: string, options: KillOptions) {
    this.#home = home;
    this.#options = options;
    this.#random = seededRandom(options.seed);
    this.#files = new ChatFiles(join(home, "chats"));
  }

  async run(): Promise<KillCounts> {
    this.#note({ event: "seed", ...this.#options });
    await this.#killTalking("SIGTERM");
    while (this.#counts.kills < this.#options.kills) {
      const before = this.#counts.kills;
      const random = this.#random(100);
      // Some die while they start, which is while they repair what the one before left.
      if (random < 12) await this.#killAtStart();
      else await this.#killTalking(random < 25 ? "SIGTERM" : "SIGKILL");
      const isDue = this.#counts.kills % this.#options.readEvery === 0;
      if (isDue && this.#counts.kills > before) await this.#look((url) => this.#readBack(url));
    }
    await this.#look(async (url) => {
      await this.#readBack(url);
      await this.#forgetAll(url);
    });
    return this.#counts;
  }

  async #killAtStart(): Promise<void> {
    const server = new ServerProcess(this.#home);
    await wait(this.#random(600));
    await server.kill();
    this.#counts.kills++;
    this.#lookAtFiles();
    this.#note({ event: "killed at start" });
  }

  async #killTalking(signal: "SIGKILL" | "SIGTERM"): Promise<void> {
    const { server, url } = await this.#start();
    const load: Load = { isOver: false, answers: this.#random(12), heard: Promise.withResolvers() };
    const clients = Array.from({ length: this.#options.clients }, () => this.#talk(url, load));
    const talking = Promise.all(clients);
    talking.catch(load.heard.reject); // also awaited below, after the kill
    try {
      await load.heard.promise;
    } catch (error) {
      load.isOver = true;
      await server.kill();
      throw error;
    }
    await wait(this.#random(40));
    load.isOver = true;
    const told = performance.now();
    const { code, err } = await server.kill(signal);
    await talking;
    this.#lookAtFiles();
    this.#note({ event: signal, code });
    if (signal === "SIGKILL") this.#counts.kills++;
    else {
      this.#counts.terms++;
      const ms = performance.now() - told;
      // It gives up after 4.5 s, as on a machine that others load, and loses nothing by that.
      if (code === 1 && ms > 4_400) this.#counts.late++;
      else assert.equal(code, 0, err);
      assert.ok(ms < 6_000, `a server that is told to end is gone in 5 s, not in ${ms} ms`);
    }
  }

  #lookAtFiles(): void {
    const { files, halves } = this.#files.look();
    this.#counts.files += files;
    this.#counts.halves += halves;
  }

  async #start() {
    const server = new ServerProcess(this.#home);
    const url = await server.url();
    const ms = performance.now() - server.startedAt;
    this.#counts.slowestStartMs = Math.max(this.#counts.slowestStartMs, Math.round(ms));
    return { server, url };
  }

  /** One client: says one thing after the other, sometimes what was not answered before, sometimes three at once. */
  async #talk(url: string, load: Load): Promise<void> {
    while (!load.isOver) {
      if (load.answers-- <= 0) load.heard.resolve();
      const choice = this.#random(6);
      const open = choice < 2 ? this.#open.pop() : undefined;
      const earlier = choice === 5 ? this.#said[this.#random(this.#said.length)] : undefined;
      const answered = earlier?.answered && earlier;
      const chat = `kill:${this.#random(this.#options.chats)}`;
      const isNew = open === undefined && answered === undefined;
      const atOnce = isNew && this.#random(5) === 0 ? 3 : 1;
      const many = Array.from({ length: atOnce }, () => open ?? answered ?? this.#newMessage(chat));
      if (open !== undefined) this.#counts.repeated++;
      else if (answered !== undefined) this.#counts.askedTwice++;
      else this.#said.push(...many);
      const isHeard = await Promise.all(many.map((said) => this.#say(url, said)));
      if (isHeard.includes(false)) return;
    }
  }

  /** @returns whether it was answered. */
  async #say(url: string, said: Said): Promise<boolean> {
    this.#note({ event: "says", key: said.key });
    const answer = await say(url, said.chat, said.key, said.content);
    if (answer === undefined) {
      // Half of them are never asked again: those may be there once, or not.
      if (said.answered === undefined && this.#random(2) === 0) this.#open.push(said);
      return false;
    }
    assert.equal(answer.user.content, said.content);
    if (said.answered !== undefined) {
      const { user, assistant } = said.answered;
      assert.deepEqual(
        [answer.user, answer.assistant],
        [user, assistant],
        `${said.key}, said again`,
      );
      return true;
    }
    said.answered = answer;
    this.#counts.answered++;
    this.#note({ event: "answered", key: said.key, user: answer.user, by: answer.assistant });
    return true;
  }

  #newMessage(chat: string): Said {
    const number = ++this.#counts.said;
    const content = `message ${number} ${"🌍 said ".repeat(this.#random(40))}`.trim();
    return { chat, key: `${this.#options.seed}-${number}`, content };
  }

  /** Looks at what is stored through a server to which nobody talks, which is killed then. */
  async #look(work: (url: string) => Promise<void>): Promise<void> {
    const { server, url } = await this.#start();
    await work(url);
    await server.kill();
  }

  async #readBack(url: string): Promise<void> {
    const chats = new Set(this.#said.map(({ chat }) => chat));
    const owed = new Set(this.#said.filter((said) => said.answered).map(({ chat }) => chat));
    const listed = await listChats(url, 4);
    assert.equal(new Set(listed).size, listed.length, "every chat is listed once");
    for (const chat of listed) assert.ok(chats.has(chat), `${chat} was never spoken in`);
    for (const chat of owed) assert.ok(listed.includes(chat), `${chat} is listed`);
    for (const chat of listed) {
      const messages = await readChat(url, chat, 25);
      assertKept(
        messages,
        this.#said.filter((said) => said.chat === chat),
      );
      this.#counts.readBack += messages.length;
    }
    this.#note({ event: "read back" });
  }

  /** After all kills every chat is forgotten: no file of the home, whatever its name, holds a word. */
  async #forgetAll(url: string): Promise<void> {
    for (const chat of await listChats(url, 4)) {
      const path = `${url}/api/chats/${encodeURIComponent(chat)}`;
      const headers = { "content-type": "application/json" };
      const response = await fetch(path, { method: "DELETE", headers });
      const receipt = (await response.json()) as { unreachable: unknown };
      assert.deepEqual([response.status, receipt.unreachable], [200, []], chat);
    }
    const found = fs.readdirSync(this.#home, { recursive: true, withFileTypes: true });
    const paths = found
      .filter((each) => each.isFile())
      .map((each) => join(each.parentPath, each.name));
    const holding = paths.filter((path) => /message \d+/.test(fs.readFileSync(path, "latin1")));
    assert.deepEqual(holding, [], "what was forgotten is on the disk");
  }

  /** The journal lies beside the home, and outlives a failure. */
  #note(event: object): void {
    fs.appendFileSync(`${this.#home}.journal.jsonl`, `${JSON.stringify(event)}\n`);
  }
}

/** What is read is what was said: answered once, not answered at most once, in order, no more. */
function assertKept(messages: readonly Message[], said: readonly Said[]): void {
  let last = 0;
  for (const { seq } of messages) {
    assert.ok(seq > last, `record ${seq} comes after ${last}`);
    last = seq;
  }
  const byId = new Map(messages.map((message) => [message.id, message]));
  assert.equal(byId.size, messages.length, "every id is there once");
  const times = new Map<string, number>();
  for (const { role, content } of messages) {
    if (role === "user") times.set(content, (times.get(content) ?? 0) + 1);
  }
  for (const { key, content, answered } of said) {
    const count = times.get(content) ?? 0;
    times.delete(content);
    if (answered === undefined) {
      assert.ok(count <= 1, `${key} was not answered, and is there ${count} times`);
      continue;
    }
    assert.equal(count, 1, `${key} was answered, and is there ${count} times`);
    assert.deepEqual(byId.get(answered.user.id), answered.user, key);
    assert.deepEqual(byId.get(answered.assistant.id), answered.assistant, key);
  }
  assert.deepEqual([...times.keys()], [], "nothing was invented");
}

// Method: servers of one database and their clients are processes. Clients write down what they say and
// what they are answered; a model notes in which chat it speaks. Servers and clients are killed while it
// does, and go on. At the end all servers are killed in the middle of turns, and a new one is asked for
// everything.
import assert from "node:assert/strict";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { type Random, seededRandom } from "../../src/testing/random.ts";
import { Child } from "./command-line.ts";
import { getJson, listChats, readChat, say } from "./kill-harness.ts";
import { type NotingModel, notingModel, type Spoken, wordsOf } from "./noting-model.ts";
import { ClusterServer, startCluster } from "./server-cluster.ts";
import {
  assertAlone,
  assertKept,
  type ClientOptions,
  type Journal,
  readJournal,
  type Told,
} from "./server-cluster-journal.ts";

export interface LoadOptions {
  readonly directory: string;
  readonly store: string;
  readonly leaseMs?: number;
  readonly servers: number;
  readonly clients: number;
  readonly workers: number;
  readonly chats: number;
  readonly hotChats: number;
  readonly serverKills: number;
  readonly clientKills: number;
  /** How many answers are begun from one kill to the next. */
  readonly answersBetween: number;
  /** The model thinks up to so long before each of the three pieces of an answer. */
  readonly thinkMs: number;
  /** Chats in which a turn runs when all servers are killed at the end. */
  readonly cutAtEnd: number;
  readonly seed: number;
}

export interface ClusterCounts {
  serverKills: number;
  clientKills: number;
  /** Answers that the model did not end, because whoever asked for it was killed. */
  turnsKilled: number;
  said: number;
  answered: number;
  accepted: number;
  broke: Record<string, number>;
  readBack: number;
  slowestStartMs: number;
  /** From the death of a turn's process to the next answer that is begun in its chat, by another one. */
  slowestFailoverMs: number;
  /** The same, after all had died, with the start of a new one. */
  slowestRevivalMs: number;
}

/** Far more than any chat may wait for its turn. */
const stuckMs = 40_000;

/** Runs the load. Rejects as soon as anything is not as promised. */
export async function killClusterUnderLoad(options: LoadOptions): Promise<ClusterCounts> {
  const random = seededRandom(options.seed);
  await using model = await notingModel(() => random(options.thinkMs));
  await using cluster = await startCluster(options.servers, { ...options, model: model.name });
  const run = new LoadRun(options, random, model, cluster.servers);
  try {
    return await run.run();
  } finally {
    run.endClients();
  }
}

class LoadRun {
  readonly #options: LoadOptions;
  readonly #random: Random;
  readonly #model: NotingModel;
  readonly #servers: readonly ClusterServer[];
  readonly #clients: Client[];
  readonly #counts: ClusterCounts = {
    ...{ serverKills: 0, clientKills: 0, turnsKilled: 0, said: 0, answered: 0, accepted: 0 },
    ...{ broke: {}, readBack: 0, slowestStartMs: 0, slowestFailoverMs: 0, slowestRevivalMs: 0 },
  };

  constructor(
    options: LoadOptions,
    random: Random,
    model: NotingModel,
    servers: readonly ClusterServer[],
  ) {
    this.#options = options;
    this.#random = random;
    this.#model = model;
    this.#servers = servers;
    const { chats, hotChats, workers, directory } = options;
    const urls = servers.map(({ url }) => url);
    this.#clients = Array.from({ length: options.clients }, (_, index) => {
      const journal = join(directory, `client-${index}.jsonl`);
      return new Client({
        name: `c${index}`,
        urls,
        chats,
        hotChats,
        workers,
        journal,
        seed: index,
      });
    });
  }

  async run(): Promise<ClusterCounts> {
    await this.#killAmidTalk();
    const journals = this.#clients.map(({ journal }) => readJournal(journal));
    await this.#endAmidTurns(journals);
    return this.#counts;
  }

  endClients(): void {
    for (const client of this.#clients) void client.kill();
  }

  async #killAmidTalk(): Promise<void> {
    const { serverKills, clientKills, answersBetween } = this.#options;
    const down = new Map<ClusterServer, Promise<void>>();
    const failed = Promise.withResolvers<never>();
    const watch = () => {
      for (const client of this.#clients) client.start(failed.reject);
    };
    watch();
    while (this.#counts.serverKills < serverKills) {
      const from = this.#model.spoken.length + answersBetween;
      await Promise.race([this.#model.until(({ length }) => length >= from), failed.promise]);
      const isClientsTurn =
        this.#counts.clientKills * serverKills <= this.#counts.serverKills * clientKills;
      if (isClientsTurn) {
        const client = this.#clients[this.#random(this.#clients.length)];
        await client?.kill();
        client?.start(failed.reject);
        this.#counts.clientKills++;
      }
      const up = this.#servers.filter((server) => !down.has(server));
      const server = up[this.#random(up.length)];
      if (server === undefined) await Promise.race(down.values());
      else {
        const again = this.#killAndStart(server).finally(() => down.delete(server));
        again.catch(failed.reject);
        down.set(server, again);
      }
    }
    await Promise.all(down.values());
    await Promise.race([Promise.all(this.#clients.map((client) => client.end())), failed.promise]);
  }

  async #killAndStart(server: ClusterServer): Promise<void> {
    this.#counts.serverKills++;
    await server.kill();
    await this.#timed(server.start());
  }

  async #timed(starting: Promise<number>): Promise<void> {
    const ms = Math.round(await starting);
    this.#counts.slowestStartMs = Math.max(this.#counts.slowestStartMs, ms);
  }

  /** All servers die in the middle of turns; a new one goes on in every chat. */
  async #endAmidTurns(journals: readonly Journal[]): Promise<void> {
    const { chats, cutAtEnd } = this.#options;
    const said: Told[] = journals.flatMap((journal) => journal.said);
    const names = Array.from({ length: chats }, (_, index) => `chat-${index}`);
    const held = this.#model.holdBack();
    const cut = names.slice(0, cutAtEnd).map((chat) => this.#say(chat, `cut-${chat}`, said));
    await this.#assertAllBegin(names.slice(0, cutAtEnd));
    await Promise.all(this.#servers.map((server) => server.kill()));
    held.free();
    await Promise.all(cut);
    const { model, directory, store, leaseMs } = { ...this.#options, model: this.#model.name };
    const quick = leaseMs === undefined ? {} : { leaseMs };
    const fresh = await ClusterServer.at("fresh", { model, directory, store, ...quick });
    try {
      await this.#timed(fresh.start());
      const waiting = await listUnanswered(fresh.url);
      for (const chat of names.slice(0, cutAtEnd)) assert.ok(waiting.includes(chat), chat);
      await Promise.all(names.map((chat) => this.#say(chat, `last-${chat}`, said, fresh.url)));
      // What is left without an answer can be taken up, in every chat.
      for (const chat of await listUnanswered(fresh.url)) await answerAll(fresh.url, chat);
      assert.deepEqual(await listUnanswered(fresh.url), []);
      await this.#readBack(fresh.url, said);
    } finally {
      await fresh.kill();
    }
    this.#count(journals, said);
  }

  /** Nothing is said elsewhere any more: whoever died last had its leases for 5 s at most. */
  async #assertAllBegin(chats: readonly string[]): Promise<void> {
    const isBegun = (chat: string) =>
      this.#model.spoken.some((note) => note.chat === chat && isOfCut(note));
    const begun = this.#model.until(() => chats.every(isBegun));
    await Promise.race([begun, wait(stuckMs, undefined, { ref: false })]);
    assert.deepEqual(
      chats.filter((chat) => !isBegun(chat)),
      [],
      `no chat is stuck; ${this.#servers.map(({ state }) => state).join("\n")}`,
    );
  }

  async #readBack(url: string, said: readonly Told[]): Promise<void> {
    const { chats } = this.#options;
    const listed = await listChats(url, 50);
    assert.equal(new Set(listed).size, listed.length, "every chat is listed once");
    assert.equal(listed.length, chats);
    for (const chat of listed) {
      const messages = await readChat(url, chat, 50);
      assertKept(
        messages,
        said.filter((each) => each.chat === chat),
      );
      this.#counts.readBack += messages.length;
    }
    assertAlone(this.#model.spoken, said);
  }

  /** Says something, at a server by chance, and notes it as clients do. */
  async #say(chat: string, key: string, said: Told[], at?: string): Promise<void> {
    const url = at ?? this.#servers[this.#random(this.#servers.length)]?.url ?? "";
    const content = wordsOf(chat, key);
    const saidAt = process.hrtime.bigint();
    const told: Told = { chat, key, content, saidAt, users: [], assistants: [], broke: 0 };
    said.push(told);
    let answer = await say(url, chat, key, content);
    // A lease of a second may be lost on a machine that is busy: that is told, and it is said again.
    for (let tries = 1; at !== undefined && answer === undefined && tries < 10; tries++) {
      answer = await say(url, chat, key, content);
    }
    if (answer === undefined) {
      assert.equal(at, undefined, `${key} was not answered`);
      return;
    }
    told.users.push(answer.user);
    told.assistants.push(answer.assistant);
    told.answeredAt = process.hrtime.bigint();
    told.acceptedAt = told.answeredAt;
  }

  #count(journals: readonly Journal[], said: readonly Told[]): void {
    const counts = this.#counts;
    counts.said = said.length;
    counts.accepted = said.filter(({ acceptedAt }) => acceptedAt !== undefined).length;
    counts.answered = said.filter(({ answeredAt }) => answeredAt !== undefined).length;
    for (const [why, times] of journals.flatMap(({ reasons }) => [...reasons])) {
      counts.broke[why] = (counts.broke[why] ?? 0) + times;
    }
    const { spoken } = this.#model;
    counts.turnsKilled = spoken.filter(({ isCut }) => isCut === true).length;
    counts.slowestFailoverMs = Math.round(Math.max(0, ...failoversMs(spoken, false)));
    counts.slowestRevivalMs = Math.round(Math.max(0, ...failoversMs(spoken, true)));
  }
}

const isOfCut = ({ words, endedAt }: Spoken) => words.includes(" cut-") && endedAt === undefined;

/** How long a chat stood still after the process of its turn was gone: at the end, or before. */
function failoversMs(spoken: readonly Spoken[], atEnd: boolean): readonly number[] {
  return spoken.flatMap((note, index) => {
    if (note.isCut !== true || note.endedAt === undefined) return [];
    const { chat, words, endedAt } = note;
    if (words.includes(" cut-") !== atEnd) return [];
    const later = spoken.slice(index + 1).filter((each) => each.chat === chat);
    // Where nobody asks again the chat waits for a person, and not for a lease.
    if (!atEnd && !later.some((each) => each.words === words)) return [];
    return later.slice(0, 1).map(({ begunAt }) => Number(begunAt - endedAt) / 1e6);
  });
}

async function listUnanswered(url: string): Promise<string[]> {
  const { chats } = await getJson(url, "/api/chats?unanswered=true&limit=100");
  return chats.map((row: { readonly chat_id: string }) => row.chat_id);
}

async function answerAll(url: string, chat: string): Promise<void> {
  for (let status = 200; status === 200; ) {
    const headers = { "content-type": "application/json" };
    const response = await fetch(`${url}/api/chats/${chat}/answer`, { method: "POST", headers });
    status = response.status;
    const text = await response.text();
    assert.ok(status === 200 || status === 404, text);
  }
}

/** A client of the cluster: its processes come and go, its journal stays. */
class Client {
  readonly #options: ClientOptions;
  #process: Child | undefined;
  #lives = 0;

  constructor(options: ClientOptions) {
    this.#options = options;
  }

  get journal(): string {
    return this.#options.journal;
  }

  /** @param failed told when it ends by itself, and not well. */
  start(failed: (error: Error) => void): void {
    const options = { ...this.#options, seed: this.#options.seed * 1_000 + ++this.#lives };
    const script = join(import.meta.dirname, "server-cluster-client.ts");
    const args = [script, JSON.stringify(options)];
    const started = new Child(undefined, process.execPath, args, {});
    this.#process = started;
    void started.ended().then(({ code, err }) => {
      const isKilled = started.child.signalCode === "SIGKILL";
      if (code !== 0 && !isKilled) failed(new Error(`a client ended: ${err}`));
    });
  }

  async kill(): Promise<void> {
    await this.#process?.kill();
  }

  /** It says nothing new, and ends when everything is answered. */
  async end(): Promise<void> {
    await this.#process?.ended("");
  }
}

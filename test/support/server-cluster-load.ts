// Method: servers are processes. Clients note what they say and what they are answered; a model notes in which chat
// it speaks. Servers and clients are killed while it does, and go on: what was not answered is said again under its
// key, or never. At the end all servers are killed in the middle of turns, and one is asked for everything.
import assert from "node:assert/strict";
import fs from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { type Random, seededRandom } from "../../src/testing/random.ts";
import { ChatFiles } from "./chat-files.ts";
import { bytesUnder } from "./command-line.ts";
import { getJson, listChats, readChat, say } from "./kill-harness.ts";
import { type NotingModel, notingModel, type Spoken } from "./noting-model.ts";
import { ClusterServer, startCluster } from "./server-cluster.ts";
import {
  assertAlone,
  assertKept,
  Client,
  newTold,
  noteTold,
  type Told,
} from "./server-cluster-clients.ts";

export interface LoadOptions {
  readonly directory: string;
  /** The database; without it one server has its chats in its home. */
  readonly store?: string;
  readonly leaseMs?: number;
  readonly servers: number;
  readonly clients: number;
  readonly workers: number;
  readonly chats: number;
  readonly hotChats: number;
  readonly serverKills: number;
  readonly clientKills: number;
  /** Everything is read back after that many kills of servers, and at the end. */
  readonly readEvery: number;
  /** How many answers are begun from one kill to the next. */
  readonly answersBetween: number;
  /** The model thinks up to so long before each of the three pieces of an answer. */
  readonly thinkMs: number;
  /** Chats in which a turn runs when all servers are killed at the end. */
  readonly cutAtEnd: number;
  readonly seed: number;
}

/** Far more than any chat may wait for its turn. */
const stuckMs = 40_000;

/** Runs the load. Rejects as soon as anything is not as promised. @returns what was done, counted. */
export async function killUnderLoad(options: LoadOptions): Promise<LoadRun["counts"]> {
  const random = seededRandom(options.seed);
  await using model = await notingModel(() => random(options.thinkMs));
  await using cluster = await startCluster(options.servers, { ...options, model: model.name });
  const run = new LoadRun(options, random, model, cluster.servers);
  try {
    await run.run();
  } finally {
    run.endClients();
  }
  return run.counts;
}

class LoadRun {
  readonly counts = {
    ...{ serverKills: 0, clientKills: 0, terms: 0 },
    /** Those of the kills of servers that met a start. */
    startKills: 0,
    /** How many servers that were told to end had not done everything after 4.5 s. */
    late: 0,
    /** Answers that the model did not end, because whoever asked for it was killed. */
    turnsKilled: 0,
    ...{ said: 0, answered: 0, accepted: 0, askedTwice: 0, readBack: 0 },
    /** Chat files that were looked at just after a kill, and those of them that ended with half a batch. */
    ...{ files: 0, halves: 0 },
    slowestStartMs: 0,
    /** From the death of a turn's process to the next answer that is begun in its chat, by another one. */
    slowestFailoverMs: 0,
    /** The same, after all had died, with the start of a new one. */
    slowestRevivalMs: 0,
    broke: [] as readonly Readonly<Record<string, number>>[],
  };
  readonly #options: LoadOptions;
  readonly #random: Random;
  readonly #model: NotingModel;
  readonly #servers: readonly ClusterServer[];
  readonly #clients: readonly Client[];
  readonly #files: ReadonlyMap<ClusterServer, ChatFiles>;

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
    this.#files = new Map(servers.map((each) => [each, new ChatFiles(join(each.home, "chats"))]));
    const urls = servers.map(({ url }) => url);
    // It lies beside the homes, and outlives a failure.
    const journal = join(options.directory, "journal.jsonl");
    const note = (event: object) => fs.appendFileSync(journal, `${JSON.stringify(event)}\n`);
    this.#clients = Array.from({ length: options.clients }, (_, index) => {
      const name = `c${index}`;
      return new Client({ ...options, name, urls, note, seed: this.#random(1_000_000) });
    });
  }

  async run(): Promise<void> {
    const { serverKills, readEvery } = this.#options;
    while (this.counts.serverKills < serverKills) {
      await this.#killAmidTalk(Math.min(serverKills, this.counts.serverKills + readEvery));
      await this.#readBack(this.#servers[0]?.url ?? "", this.#saidByClients());
    }
    await this.#endAmidTurns();
  }

  /** What was not as promised is told by now; a client that went on would keep this process for good. */
  endClients(): void {
    for (const client of this.#clients) client.kill().catch(() => undefined);
  }

  #saidByClients(): Told[] {
    return this.#clients.flatMap(({ said }) => said);
  }

  /** Kills until there were that many kills of servers; then every client gets its answers. */
  async #killAmidTalk(until: number): Promise<void> {
    const { serverKills, clientKills, answersBetween } = this.#options;
    const down = new Map<ClusterServer, Promise<void>>();
    const failed = Promise.withResolvers<never>();
    const start = (client: Client) => void client.start().catch(failed.reject);
    this.#clients.forEach(start);
    while (this.counts.serverKills < until) {
      const from = this.#model.spoken.length + answersBetween;
      await Promise.race([this.#model.until(({ length }) => length >= from), failed.promise]);
      const isClientsTurn =
        this.counts.clientKills * serverKills <= this.counts.serverKills * clientKills;
      const client = this.#clients[this.#random(this.#clients.length)];
      if (isClientsTurn && client !== undefined) {
        await client.kill();
        start(client);
        this.counts.clientKills++;
      }
      await wait(this.#random(40));
      const up = this.#servers.filter((server) => !down.has(server));
      const server = up[this.#random(up.length)];
      if (server === undefined) await Promise.race([failed.promise, ...down.values()]);
      else {
        const again = this.#killAndStart(server).finally(() => down.delete(server));
        again.catch(failed.reject);
        down.set(server, again);
      }
    }
    const ends = [...down.values(), ...this.#clients.map((client) => client.end())];
    await Promise.race([Promise.all(ends), failed.promise]);
  }

  async #killAndStart(server: ClusterServer): Promise<void> {
    // One that shares its chats is not told to end: others wait for it until its turns are over.
    if (this.#options.store === undefined && this.#random(8) === 0) await this.#terminate(server);
    this.counts.serverKills++;
    await server.kill();
    this.#lookAtFiles(server);
    // Some die while they start, which is while they repair what the one before left; a quarter at most: the others
    // meet what clients say.
    const mostStartKills = this.#options.serverKills / 4;
    while (this.#random(8) === 0 && this.counts.startKills + 1 <= mostStartKills) {
      this.counts.serverKills++;
      this.counts.startKills++;
      const starting = server.start().catch(() => undefined);
      await wait(this.#random(600));
      await server.kill();
      await starting;
      this.#lookAtFiles(server);
    }
    await this.#timed(server.start());
  }

  /** Tells a server to end, and starts it again. */
  async #terminate(server: ClusterServer): Promise<void> {
    this.counts.terms++;
    const toldAt = performance.now();
    const code = await server.kill("SIGTERM");
    const ms = performance.now() - toldAt;
    // It gives up after 4.5 s, as on a machine that others load, and loses nothing by that.
    if (code === 1 && ms > 4_400) this.counts.late++;
    else assert.equal(code, 0, server.errors);
    assert.ok(ms < 6_000, `a server that is told to end is gone in 5 s, not in ${ms} ms`);
    this.#lookAtFiles(server);
    await this.#timed(server.start());
  }

  #lookAtFiles(server: ClusterServer): void {
    const seen = this.#files.get(server)?.look();
    this.counts.files += seen?.files ?? 0;
    this.counts.halves += seen?.halves ?? 0;
  }

  async #timed(starting: Promise<number>): Promise<void> {
    const ms = Math.round(await starting);
    this.counts.slowestStartMs = Math.max(this.counts.slowestStartMs, ms);
  }

  /** All servers die in the middle of turns; a new one, or the only one again, goes on in every chat. */
  async #endAmidTurns(): Promise<void> {
    const { chats, cutAtEnd, store, directory, leaseMs } = this.#options;
    const said = this.#saidByClients();
    const names = Array.from({ length: chats }, (_, index) => `chat-${index}`);
    const cutChats = names.slice(0, cutAtEnd);
    const held = this.#model.holdBack();
    const cut = cutChats.map((chat) => this.#say(chat, `cut-${chat}`, said));
    await this.#assertAllBegin(cutChats);
    await Promise.all(this.#servers.map((server) => server.kill()));
    held.free();
    await Promise.all(cut);
    const [only] = store === undefined ? this.#servers : [];
    const model = this.#model.name;
    const fresh = only ?? (await ClusterServer.at("fresh", { model, directory, store, leaseMs }));
    const { url } = fresh;
    try {
      await this.#timed(fresh.start());
      const waiting = await listUnanswered(url);
      for (const chat of cutChats) assert.ok(waiting.includes(chat), chat);
      await Promise.all(names.map((chat) => this.#say(chat, `last-${chat}`, said, url)));
      // What is left without an answer can be taken up, in every chat.
      for (const chat of await listUnanswered(url)) await answerAll(url, chat);
      assert.deepEqual(await listUnanswered(url), []);
      await this.#readBack(url, said);
      if (only !== undefined) await this.#forgetAll(only);
    } finally {
      await fresh.kill();
    }
    this.#count(said);
  }

  /** Every chat is forgotten: no file of the home, whatever its name, holds a word. */
  async #forgetAll({ url, home }: ClusterServer): Promise<void> {
    for (const chat of await listChats(url, 50)) {
      const headers = { "content-type": "application/json" };
      const response = await fetch(`${url}/api/chats/${chat}`, { method: "DELETE", headers });
      const receipt = (await response.json()) as { unreachable: unknown };
      assert.deepEqual([response.status, receipt.unreachable], [200, []], chat);
    }
    assert.doesNotMatch(bytesUnder(home), /said\(chat-\d/, "what was forgotten is on the disk");
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
    const listed = await listChats(url, 50);
    assert.equal(new Set(listed).size, listed.length, "every chat is listed once");
    const chats = Map.groupBy(said, ({ chat }) => chat);
    for (const chat of listed) {
      const messages = await readChat(url, chat, 50);
      assertKept(messages, chats.get(chat) ?? []);
      chats.delete(chat);
      this.counts.readBack += messages.length;
    }
    const lost = [...chats.values()].flat().filter((told) => told.acceptedAt !== undefined);
    assert.deepEqual(lost, [], "every chat in which something was acknowledged is listed");
    assertAlone(this.#model.spoken, said);
  }

  /** Says something, at a server by chance, and notes it as clients do. */
  async #say(chat: string, key: string, said: Told[], at?: string): Promise<void> {
    const url = at ?? this.#servers[this.#random(this.#servers.length)]?.url ?? "";
    const told = newTold(chat, key);
    said.push(told);
    let answer = await say(url, chat, key, told.content);
    // A lease of a second may be lost on a machine that is busy: that is told, and it is said again.
    for (let tries = 1; at !== undefined && answer === undefined && tries < 10; tries++) {
      answer = await say(url, chat, key, told.content);
    }
    if (answer === undefined) assert.equal(at, undefined, `${key} was not answered`);
    else noteTold(told, answer);
  }

  #count(said: readonly Told[]): void {
    const { counts } = this;
    counts.said = said.length;
    counts.accepted = said.filter(({ acceptedAt }) => acceptedAt !== undefined).length;
    counts.answered = said.filter(({ answeredAt }) => answeredAt !== undefined).length;
    counts.askedTwice = this.#clients.reduce((sum, { askedTwice }) => sum + askedTwice, 0);
    counts.broke = this.#clients.map(({ broke }) => broke);
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
    return later.slice(0, 1).map(({ begunAt }) => begunAt - endedAt);
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

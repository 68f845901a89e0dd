// Several processes that serve one place, within this one: each has its own storage of the place, its own
// memories, turns and server.
import { setImmediate } from "node:timers/promises";
import { ThroughlineError } from "../../src/core/errors.ts";
import type { Responder } from "../../src/core/models/responder.ts";
import type { Cluster } from "../../src/core/storage/cluster.ts";
import type { Storage } from "../../src/core/storage/storage.ts";
import { openThroughline, type Throughline } from "../../src/core/throughline.ts";
import { systemTimers, type Timers } from "../../src/core/timers.ts";
import { createServer, type ServerFeature } from "../../src/server/server.ts";
import type { Random } from "../../src/testing/random.ts";
import { HeldClock } from "./held-clock.ts";
import { HeldTimers } from "./held-timers.ts";
import { MemoryPlace, openMemoryProcess } from "./memory-place.ts";
import { scriptedResponder } from "./scripted-responder.ts";

/** Where several processes write: how the tests open one, whatever the driver. */
export interface ClusterPlace {
  /** One more process. @param timers by which it renews its leases. */
  open(timers?: Timers): Promise<Storage>;
  /** Removes what lies there. */
  end(): Promise<void>;
}

/** In memory, by the system's clock: for what needs no lapse of a lease. */
export async function memoryPlace(): Promise<ClusterPlace> {
  const place = new MemoryPlace();
  return {
    open: async () => openMemoryProcess({ place }),
    end: async () => undefined,
  };
}

/** In memory, by a clock that is held: leases lapse when the test lets time pass. */
export function heldPlace() {
  const clock = new HeldClock();
  const place = new MemoryPlace(clock);
  /** One more process: it sleeps while nobody lets its timers pass. */
  const open = () => {
    const timers = new HeldTimers(clock);
    return { timers, storage: openMemoryProcess({ place, timers }) };
  };
  return { clock, place, open };
}

/** Two processes of one place by a held clock, each with options of its own. The first can be killed. */
export async function heldTwo(first: ProcessOptions = {}, second: ProcessOptions = {}) {
  const place = heldPlace();
  const { clock } = place;
  const [one, other] = [place.open(), place.open()];
  const dying = mortal(one.storage);
  const a = await process(dying, { clock, timers: one.timers, ...first });
  const b = await process(other.storage, { clock, timers: other.timers, ...second });
  return { ...place, a, b, timers: { a: one.timers, b: other.timers }, kill: dying.kill };
}

/** How often a companion passes by itself, in milliseconds. */
const passEveryMs = 100;

/**
 * What waits for word of other processes here waits until all that is told in memory was heard. A companion passes
 * where its test calls `tick`.
 */
export const soon: Timers = {
  after(delayMs, call) {
    if (delayMs === passEveryMs) return () => undefined;
    const immediate = globalThis.setImmediate(call);
    return () => clearImmediate(immediate);
  },
};

/** Time passes for these, and for no other process. */
export async function pass(
  clock: HeldClock,
  ms: number,
  ...awake: readonly HeldTimers[]
): Promise<void> {
  const stepMs = 500;
  for (let passed = 0; passed < ms; passed += stepMs) {
    clock.pass(stepMs);
    for (const timers of awake) await timers.pass(0);
    await setImmediate();
  }
}

/**
 * A storage whose process can be killed: then it writes, hears and tells nothing more. Or deaf: then it
 * hears nothing, and does not know.
 */
export function mortal(storage: Storage): Storage & {
  kill(): void;
  deafen(isDeaf: boolean): void;
  /** It hears that it may have missed something. */
  gap(): void;
  /** Calls back before each write: it may kill. */
  onWrite(listener: () => void): void;
  /** Its storage refuses everything. */
  away(isAway: boolean): void;
} {
  let isDead = false;
  let isDeaf = false;
  let isAway = false;
  let beforeWrite: () => void = () => undefined;
  const gaps = new Set<() => void>();
  const never = new Promise<never>(() => undefined);
  const dying = <T extends object>(of: T): T =>
    new Proxy(of, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name);
        if (typeof value !== "function") return value;
        return (...args: unknown[]) => {
          if (/^(append|write|erase|delete|put)$/.test(String(name))) beforeWrite();
          if (isDead) return never;
          if (isAway) return Promise.reject(unavailable());
          return Reflect.apply(value as (...args: unknown[]) => unknown, target, args);
        };
      },
    });
  const { leases, cluster } = storage;
  const mortalCluster: Cluster = {
    processId: cluster.processId,
    isShared: cluster.isShared,
    publish: (message) => (isDead ? undefined : cluster.publish(message)),
    subscribe: (listener) =>
      cluster.subscribe((...args) => (isDead || isDeaf ? undefined : listener(...args))),
    onMissed: (listener) => {
      gaps.add(listener);
      return () => gaps.delete(listener);
    },
  };
  return {
    logs: (...args) => dying(storage.logs(...args)),
    documents: (collection) => dying(storage.documents(collection)),
    files: (collection) => dying(storage.files(collection)),
    ready: () => (isDead ? never : storage.ready()),
    repairs: () => storage.repairs(),
    onRepair: (listener) => storage.onRepair(listener),
    close: () => storage.close(),
    [Symbol.asyncDispose]: () => storage.close(),
    leases: dying(leases),
    cluster: mortalCluster,
    kill: () => {
      isDead = true;
    },
    deafen: (deaf) => {
      isDeaf = deaf;
    },
    onWrite: (listener) => {
      beforeWrite = listener;
    },
    away: (away) => {
      isAway = away;
    },
    gap: () => {
      for (const listener of gaps) listener();
    },
  };
}

const unavailable = () => new ThroughlineError("away", { code: "THROUGHLINE_UNAVAILABLE" });

let processes = 0;

export interface ProcessOptions {
  readonly model?: Responder;
  readonly clock?: HeldClock;
  readonly timers?: Timers;
  readonly maxQueued?: number;
  /** Starts features once the memories are open. */
  readonly addFeatures?: (throughline: Throughline) => Promise<readonly ServerFeature[]>;
}

/** One process on a storage. */
export async function process(storage: Storage, options: ProcessOptions = {}) {
  const name = `p${++processes}`;
  let ids = 0;
  const newId = () => `${name}-${++ids}`;
  const { clock = new HeldClock(), addFeatures, maxQueued = 32, timers = systemTimers } = options;
  const model = options.model ?? scriptedResponder([]);
  const target = { provider: model.provider, model: model.model };
  const throughline = await openThroughline({ storage, clock, timers, newId, ...target });
  const features = await addFeatures?.(throughline);
  const turns = await throughline.turns({ model, persona: "You are kind.", maxQueued });
  const server = createServer({ throughline, turns, clock, newId, version: "0.0.0", features });
  const ask = (path: string, init: RequestInit = {}) => {
    const headers = { host: "127.0.0.1:7423", "content-type": "application/json", ...init.headers };
    return server.fetch(new Request(`http://127.0.0.1:7423${path}`, { ...init, headers }));
  };
  const post = (path: string, body: object = {}, headers: Record<string, string> = {}) =>
    ask(path, { method: "POST", body: JSON.stringify(body), headers });
  return { ...throughline, throughline, turns, server, clock, model, ask, post };
}

export type Process = Awaited<ReturnType<typeof process>>;

/** Far more than anything here takes. */
const longestMs = 20_000;

/** Lets everything go on that waits for nothing but its turn, until the condition holds. */
export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  const begun = performance.now();
  while (!(await holds())) {
    if (performance.now() - begun > longestMs) throw new Error("it never came to that");
    await setImmediate();
  }
}

/** A model that answers what it was asked, and notes which chats it speaks in at the same time. */
export function watchedModel(random: Random) {
  const speaking = new Map<string, number>();
  const overlaps: string[] = [];
  const said: string[] = [];
  const model: Responder = {
    ...{ provider: "watched", model: "watched-1", window: undefined },
    async *respond(request) {
      const words = request.messages.at(-1)?.content ?? "";
      const chat = /\b(chat-\d+)\b/.exec(String(words))?.[1] ?? "";
      if ((speaking.get(chat) ?? 0) > 0) overlaps.push(chat);
      speaking.set(chat, (speaking.get(chat) ?? 0) + 1);
      for (let steps = random(4); steps > 0; steps--) await setImmediate();
      yield { type: "text", text: `heard ${words}` };
      for (let steps = random(4); steps > 0; steps--) await setImmediate();
      said.push(String(words));
      speaking.set(chat, (speaking.get(chat) ?? 0) - 1);
      const usage = { inputTokens: 1, outputTokens: 1, costUsd: 0 };
      yield { type: "end", finish: "stop", usage };
    },
  };
  return { model, overlaps, said };
}

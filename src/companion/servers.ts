import { errorName } from "../core/errors.ts";
import { isJsonObject, type JsonObject } from "../core/json.ts";
import { companionAnswers } from "../core/storage/cluster.ts";
import { companionLease } from "../core/storage/leases.ts";
import {
  type FoundDocument,
  findDocument,
  newest,
  type SharedFields,
} from "./companion-document.ts";
import { gapBetween, readClock } from "./gap.ts";
import type { CompanionPorts } from "./options.ts";

// What servers that share a companion tell each other:
//
//   who       is the companion up?      up        yes
//   changed   there is another document
//   told      a chat got its restart notice

interface Listener {
  changed(): void;
  told(notice: JsonObject): void;
}

/** How long another server may be silent, in milliseconds, until it counts as dead. */
const silenceMs = 10_000;
/** Signs of life count as watched while the document is stored this often, in milliseconds: it is due every 5 s. */
const watchedMs = 7_500;
/** The most servers of which the document knows the newest act: those that wrote it last. */
const maxWriters = 50;

/** The other servers of a companion that several have. */
export class Servers {
  readonly #ports: CompanionPorts;
  readonly #ends: readonly (() => void)[];
  #listener: Listener | undefined;
  /** The signs of life of the others, each with the monotonic time since when it stands still. */
  #signs: ReadonlyMap<string, { readonly at: number; readonly since: number }> = new Map();
  #notedAt = Number.NEGATIVE_INFINITY;

  constructor(ports: CompanionPorts) {
    const { cluster } = ports.storage;
    this.#ports = ports;
    const missed = () => this.#listener?.changed();
    this.#ends = [cluster.subscribe((message) => this.#receive(message)), cluster.onMissed(missed)];
  }

  get processId(): string {
    return this.#ports.storage.cluster.processId;
  }

  /** Does something while no other server begins or ends the run. */
  async alone<T>(work: () => Promise<T>): Promise<T> {
    const lease = await this.#ports.storage.leases.acquire(companionLease);
    try {
      return await work();
    } finally {
      await lease.release();
    }
  }

  /** Looks whether another server has the companion: it answers, or its signs of life in the document go on. */
  async look(): Promise<{ readonly isUp: boolean; readonly found: FoundDocument }> {
    const { storage, clock } = this.#ports;
    const documents = storage.documents("session");
    const isAnswered = await this.#isAnswered();
    const found = await findDocument(documents);
    const signs = this.#othersIn(found.document?.shared?.alive);
    if (isAnswered || signs.size === 0) return { isUp: isAnswered, found };
    const { gapMs = 0, certainty } = gapBetween(found.document?.heartbeat, readClock(clock));
    const waitMs = certainty === "certain" ? silenceMs - gapMs : silenceMs;
    if (waitMs <= 0) return { isUp: false, found };
    const isHeard = await this.#isAnswered(waitMs);
    const next = await findDocument(documents);
    const goesOn = [...this.#othersIn(next.document?.shared?.alive)].some(
      ([id, at]) => signs.get(id) !== at,
    );
    const damage = [...found.damage, ...next.damage];
    return { isUp: isHeard || goesOn, found: { ...next, damage } };
  }

  #isAnswered(waitMs?: number): Promise<boolean> {
    const { storage, timers } = this.#ports;
    return companionAnswers(storage.cluster, timers, waitMs);
  }

  /** When each other server that has not left wrote last. */
  #othersIn(alive: SharedFields["alive"] = {}): ReadonlyMap<string, number> {
    return new Map(Object.entries(alive).filter(([id]) => id !== this.processId));
  }

  /**
   * Looks whether another server has the companion when this one leaves. A sign of life that may be that of a living
   * one counts as such: the run of a living server never ends.
   */
  async isLast(): Promise<boolean> {
    if (await this.#isAnswered()) return false;
    const { document } = await findDocument(this.#ports.storage.documents("session"));
    this.note(document?.shared?.alive);
    return [...this.#signs].every(([id, { at }]) => this.#isDead(id, at));
  }

  /** Notes the signs of life in the document that is stored now, each by when it changed last. */
  note(alive?: SharedFields["alive"]): void {
    const now = this.#ports.clock.monotonic();
    // While nothing could be stored here, the others may have been in the same trouble.
    const isWatched = now - this.#notedAt <= watchedMs;
    this.#notedAt = now;
    const signs = [...this.#othersIn(alive)].map(([id, at]) => {
      const before = isWatched ? this.#signs.get(id) : undefined;
      return [id, before?.at === at ? before : { at, since: now }] as const;
    });
    this.#signs = new Map(signs);
  }

  #isDead(id: string, at: number): boolean {
    const sign = this.#signs.get(id);
    return sign?.at === at && this.#notedAt - sign.since >= silenceMs;
  }

  /** Signs what this process writes. @param number of its newest act. */
  signed(fields: SharedFields, number: number, isLeaving: boolean): SharedFields {
    const signs = [...this.#othersIn(fields.alive)].filter(([id, at]) => !this.#isDead(id, at));
    const others = Object.fromEntries(signs);
    const now = this.#ports.clock.now();
    return {
      ...fields,
      writers: newest(fields.writers, this.processId, number, maxWriters),
      alive: isLeaving ? others : newest(others, this.processId, now, maxWriters),
    };
  }

  /** From now on this process has the companion, and says so. */
  begin(listener: Listener): void {
    this.#listener = listener;
    this.publish("up");
  }

  publish(say: "up" | "changed" | "told", fields: JsonObject = {}): void {
    try {
      this.#ports.storage.cluster.publish({ about: "companion", say, ...fields });
    } catch (error) {
      this.#ports.logger.warn({ error: errorName(error) }, "the other servers were not notified");
    }
  }

  /** This process answers no more. */
  retire(): void {
    this.#listener = undefined;
  }

  leave(): void {
    this.retire();
    for (const end of this.#ends) end();
  }

  #receive({ about, say, notice }: JsonObject): void {
    if (about !== "companion") return;
    if (say === "who" && this.#listener !== undefined) this.publish("up");
    else if (say === "changed") this.#listener?.changed();
    else if (say === "told" && isJsonObject(notice)) this.#listener?.told(notice);
  }
}

import { errorName } from "../core/errors.ts";
import { isJsonObject, type JsonObject } from "../core/json.ts";
import type { Logger } from "../core/logger.ts";
import { companionAnswers } from "../core/storage/cluster.ts";
import { companionLease } from "../core/storage/leases.ts";
import type { Storage } from "../core/storage/storage.ts";
import { systemTimers, type Timers } from "../core/timers.ts";
import { readClock } from "./clock-reading.ts";
import { type FoundDocument, findDocument } from "./companion-document.ts";
import { gapBetween } from "./gap.ts";
import type { CompanionPorts } from "./options.ts";

// What servers that share a companion tell each other:
//
//   who       is the companion up?      up        yes
//   changed   there is another document
//   told      a chat got its restart notice

/** The companion in this process. */
interface Listener {
  /** There is another document, or there may be. */
  changed(): void;
  told(notice: JsonObject): void;
}

/** The other servers of a companion that several have. */
export class Servers {
  readonly #storage: Pick<Storage, "leases" | "cluster">;
  readonly #timers: Timers;
  readonly #logger: Logger;
  readonly #ends: readonly (() => void)[];
  #listener: Listener | undefined;

  constructor({ storage, timers = systemTimers, logger }: CompanionPorts) {
    const { cluster } = storage;
    this.#storage = storage;
    this.#timers = timers;
    this.#logger = logger;
    const missed = () => this.#listener?.changed();
    this.#ends = [cluster.subscribe((message) => this.#receive(message)), cluster.onMissed(missed)];
  }

  /** Does something while no other server begins or ends the run. */
  async alone<T>(work: () => Promise<T>): Promise<T> {
    const lease = await this.#storage.leases.acquire(companionLease);
    try {
      return await work();
    } finally {
      await lease.release();
    }
  }

  /** Whether another server answers that it has the companion. */
  isUp(waitMs?: number): Promise<boolean> {
    return companionAnswers(this.#storage.cluster, this.#timers, waitMs);
  }

  /** From now on this process has the companion, and says so. */
  begin(listener: Listener): void {
    this.#listener = listener;
    this.publish("up");
  }

  publish(say: "up" | "changed" | "told", fields: JsonObject = {}): void {
    try {
      this.#storage.cluster.publish({ about: "companion", say, ...fields });
    } catch (error) {
      this.#logger.warn({ error: errorName(error) }, "the other servers were not notified");
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

/** How long another server may be silent, in milliseconds, until it counts as dead. */
const silenceMs = 10_000;

/** Looks whether another server has the companion: it answers, or its document moves. */
export async function lookForRun(
  { storage, clock }: CompanionPorts,
  servers: Servers,
): Promise<{ readonly isUp: boolean; readonly found: FoundDocument }> {
  const documents = storage.documents("session");
  const isAnswered = await servers.isUp();
  const found = await findDocument(documents);
  const { document, damage } = found;
  if (isAnswered) return { isUp: true, found };
  if (document?.own.shared === undefined || document.shutdownClean) return { isUp: false, found };
  const { gapMs = 0, certainty } = gapBetween(document.heartbeat, readClock(clock));
  const waitMs = certainty === "certain" ? silenceMs - gapMs : silenceMs;
  if (waitMs <= 0) return { isUp: false, found };
  const isHeard = await servers.isUp(waitMs);
  const next = await findDocument(documents);
  const hasMoved = next.document?.heartbeat?.at !== document.heartbeat?.at;
  const isUp = isHeard || (hasMoved && next.document?.shutdownClean === false);
  return { isUp, found: { ...next, damage: [...damage, ...next.damage] } };
}

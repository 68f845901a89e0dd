import { createHash } from "node:crypto";
import type { JsonObject } from "../core/json.ts";
import { misconfigured } from "../core/options.ts";
import { type Cluster, prepareMessage, Subscribers } from "../core/storage/cluster.ts";
import { ClusterLeases } from "../core/storage/cluster-leases.ts";
import { DeadlineError, within } from "./connection.ts";
import type { DriverContext } from "./database.ts";
import { PostgresLeases } from "./leases.ts";
import { Listening } from "./listening.ts";
import { PublishQueue } from "./publish-queue.ts";
import { Subscription } from "./subscription.ts";

/** How long a process waits for the notification that it sends itself at the start. */
const ownNotificationMs = 5_000;

/** One of the processes of a companion: leases in rows, messages by LISTEN and NOTIFY. */
export class PostgresCluster implements Cluster {
  readonly processId: string;
  readonly isShared = true;
  readonly leases: ClusterLeases;
  /** How often notifications were missed: the connection that listens was lost. */
  missed = 0;
  readonly #context: Omit<DriverContext, "calls">;
  readonly #places: PostgresLeases;
  readonly #subscribers: Subscribers;
  readonly #publishing: PublishQueue;
  readonly #subscription: Subscription;
  readonly #listening: Listening;
  /** Resolves when this process gets the notification that it sent itself. */
  readonly #heard = Promise.withResolvers<void>();

  /** @param leaseMs how long a lease lasts without being renewed, in milliseconds. */
  constructor(context: Omit<DriverContext, "calls">, leaseMs: number) {
    const { database, companion, epochs, clock, timers, newId, logger } = context;
    const processId = newId();
    const channel = channelOf(companion);
    const own = { database, companion, channel, processId, timers, logger };
    this.processId = processId;
    this.#context = context;
    this.#subscribers = new Subscribers(logger);
    this.#publishing = new PublishQueue(own);
    this.#subscription = new Subscription(processId, {
      message: (text, from) => this.#subscribers.receive(text, from),
      freed: (name) => this.leases.wake(name),
      missed: () => this.#subscribers.missed(),
    });
    this.#listening = new Listening(own, {
      received: (payload) => {
        if (payload === processId) this.#heard.resolve();
        else this.#subscription.receive(payload);
      },
      missed: () => this.#missed(),
    });
    this.#places = new PostgresLeases(own, leaseMs, this.#listening);
    this.leases = new ClusterLeases(this.#places, epochs, { clock, timers, leaseMs, logger });
  }

  /**
   * Joins the other processes: removes what dead ones left, and resolves when this one gets their messages.
   *
   * @throws ThroughlineError `THROUGHLINE_CONFIGURATION`: notifications do not arrive.
   * @throws ThroughlineError `THROUGHLINE_UNAVAILABLE`: the database did not answer in time.
   */
  async open(): Promise<void> {
    await this.#places.sweep();
    await this.#listening.open();
    await this.#checkDelivery();
  }

  publish(message: JsonObject): void {
    this.#publishing.add(prepareMessage(message));
  }

  subscribe(listener: (message: JsonObject, processId: string) => void): () => void {
    return this.#subscribers.subscribe(listener);
  }

  onMissed(listener: () => void): () => void {
    return this.#subscribers.onMissed(listener);
  }

  /** Sends what is still to be sent, frees what is held, and gives the connection back. */
  async close(): Promise<void> {
    this.#subscribers.close();
    await Promise.all([this.#publishing.close(), this.leases.close()]);
    this.#listening.close();
    this.#subscription.close();
  }

  /** A pooler that gives each transaction another connection forgets who listens, and says nothing. */
  async #checkDelivery(): Promise<void> {
    const { database, companion, timers } = this.#context;
    const values = [channelOf(companion), this.processId];
    try {
      await database.query({ text: "select pg_notify($1, $2)", values });
      await within(this.#heard.promise, timers, ownNotificationMs);
    } catch (error) {
      this.#listening.close();
      if (!(error instanceof DeadlineError)) throw error;
      const says = "a notification that this process sent itself did not arrive";
      throw misconfigured(`${says}: a pooler such as PgBouncer must be in session mode`);
    }
  }

  /** Releases were missed as messages were. */
  #missed(): void {
    this.missed++;
    this.leases.missed();
    this.#subscribers.missed();
  }
}

/** A name for `LISTEN`, which takes at most 63 bytes: its companion may have a longer one. */
function channelOf(companion: string): string {
  return `throughline_${createHash("sha256").update(companion).digest("hex").slice(0, 40)}`;
}

import { createHash } from "node:crypto";
import type { Clock } from "../core/clock.ts";
import { errorName } from "../core/errors.ts";
import type { NewId } from "../core/ids.ts";
import type { JsonObject } from "../core/json.ts";
import type { Logger } from "../core/logger.ts";
import { type Cluster, prepareMessage, Subscribers } from "../core/storage/cluster.ts";
import { ClusterLeases, type LeaseRegistry } from "../core/storage/cluster-leases.ts";
import type { Timers } from "../core/timers.ts";
import type { Database } from "./database.ts";
import { PostgresLeases } from "./leases.ts";
import { Listening } from "./listening.ts";
import { PublishQueue } from "./publish-queue.ts";
import { Subscription } from "./subscription.ts";

export interface PostgresClusterPorts {
  readonly database: Database;
  readonly companion: string;
  /** The epochs that the log stores of this process write under. */
  readonly epochs: LeaseRegistry;
  /** How long a lease lasts without being renewed, in milliseconds. */
  readonly leaseMs: number;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly newId: NewId;
  readonly logger: Logger;
}

/**
 * Joins the processes of a companion.
 *
 * @throws ThroughlineError `THROUGHLINE_UNAVAILABLE`: the database did not answer in time.
 */
export async function openPostgresCluster(ports: PostgresClusterPorts): Promise<PostgresCluster> {
  const cluster = new PostgresCluster(ports);
  await cluster.open();
  return cluster;
}

/** One of the processes of a companion: leases in rows, messages by LISTEN and NOTIFY. */
export class PostgresCluster implements Cluster {
  readonly processId: string;
  readonly isShared = true;
  readonly leases: ClusterLeases;
  readonly #ports: PostgresClusterPorts;
  readonly #places: PostgresLeases;
  readonly #subscribers: Subscribers;
  readonly #publishing: PublishQueue;
  readonly #subscription: Subscription;
  readonly #listening: Listening;

  constructor(ports: PostgresClusterPorts) {
    const { database, companion, epochs, ...rest } = ports;
    const { leaseMs, clock, timers, newId, logger } = rest;
    const processId = newId();
    const channel = channelOf(companion);
    this.processId = processId;
    this.#ports = ports;
    this.#subscribers = new Subscribers(logger);
    this.#places = new PostgresLeases({ database, companion, channel, processId, leaseMs });
    this.leases = new ClusterLeases(this.#places, epochs, { clock, timers, leaseMs, logger });
    this.#publishing = new PublishQueue({ database, channel, processId, logger });
    this.#subscription = new Subscription({
      processId,
      message: (text, from) => this.#subscribers.receive(text, from),
      freed: (name) => this.leases.wake(name),
      missed: () => this.#subscribers.missed(),
    });
    this.#listening = new Listening({
      database,
      channel,
      timers,
      logger,
      received: (payload) => this.#subscription.receive(payload),
      missed: () => this.#missed(),
    });
  }

  /** Removes what dead processes left. Resolves when this process gets the messages of the others. */
  async open(): Promise<void> {
    await Promise.all([this.#places.sweep(), this.#forgetKept()]);
    await this.#listening.open();
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

  /** No build after the first ones keeps messages in the table: what they left is read by none. */
  async #forgetKept(): Promise<void> {
    const { database, companion, logger } = this.#ports;
    try {
      await database.query({ ...forgetMessages, values: [companion] });
    } catch (error) {
      logger.warn({ error: errorName(error) }, "messages could not be removed");
    }
  }

  /** Releases were missed as messages were. */
  #missed(): void {
    this.leases.wake();
    this.#subscribers.missed();
  }
}

/** 1: companion. What stands there was sent by a build before this one, which kept it. */
const forgetMessages = { text: "delete from throughline.messages where companion = $1" };

/** A name for `LISTEN`, which takes at most 63 bytes: its companion may have a longer one. */
function channelOf(companion: string): string {
  return `throughline_${createHash("sha256").update(companion).digest("hex").slice(0, 40)}`;
}

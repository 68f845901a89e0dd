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
import { Hearing } from "./tell-hearing.ts";
import { Listening } from "./tell-listening.ts";
import { TellQueue } from "./tell-queue.ts";
import { tellStatements } from "./tell-statements.ts";

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
  readonly #telling: TellQueue;
  readonly #hearing: Hearing;
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
    this.#telling = new TellQueue({ database, channel, processId, logger });
    this.#hearing = new Hearing({
      processId,
      told: (text, from) => this.#subscribers.receive(text, from),
      freed: (name) => this.leases.wake(name),
      gap: () => this.#subscribers.missed(),
    });
    this.#listening = new Listening({
      ...{ database, channel, timers, logger },
      heard: (payload) => this.#hearing.hear(payload),
      healed: () => this.#healed(),
    });
  }

  /** Removes what dead processes left. Resolves when this process hears the others. */
  async open(): Promise<void> {
    await Promise.all([this.#places.sweep(), this.#forgetKept()]);
    await this.#listening.open();
  }

  publish(message: JsonObject): void {
    this.#telling.add(prepareMessage(message));
  }

  subscribe(listener: (message: JsonObject, processId: string) => void): () => void {
    return this.#subscribers.subscribe(listener);
  }

  onMissed(listener: () => void): () => void {
    return this.#subscribers.onMissed(listener);
  }

  /** Tells what is still to be told, frees what is held, and lets go of the connection. */
  async close(): Promise<void> {
    this.#subscribers.close();
    await Promise.all([this.#telling.close(), this.leases.close()]);
    this.#listening.close();
    this.#hearing.close();
  }

  /** No build after the first ones keeps what is told: what they left is nobody's to read. */
  async #forgetKept(): Promise<void> {
    const { database, companion, logger } = this.#ports;
    try {
      await database.query({ ...tellStatements.forget, values: [companion] });
    } catch (error) {
      logger.warn({ error: errorName(error) }, "messages could not be removed");
    }
  }

  /** Releases were missed as messages were. */
  #healed(): void {
    this.leases.wake();
    this.#subscribers.missed();
  }
}

/** A name for `LISTEN`, which takes at most 63 bytes: its companion may have a longer one. */
function channelOf(companion: string): string {
  return `throughline_${createHash("sha256").update(companion).digest("hex").slice(0, 40)}`;
}

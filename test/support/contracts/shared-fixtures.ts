import assert from "node:assert/strict";
import type { JsonObject } from "../../../src/core/json.ts";
import type { Cluster } from "../../../src/core/storage/cluster.ts";
import type { DocumentStore } from "../../../src/core/storage/document-store.ts";
import type { LeaseName, Leases } from "../../../src/core/storage/leases.ts";
import type { LogRecord, LogStore } from "../../../src/core/storage/log-store.ts";
import type { Storage } from "../../../src/core/storage/storage.ts";
import { systemTimers } from "../../../src/core/timers.ts";
import { documentsOf } from "../../../src/testing/document-store-contract-fixtures.ts";
import {
  chat,
  everything,
  logsOf,
  message,
} from "../../../src/testing/log-store-contract-fixtures.ts";
import type { SharedClause, SharedPlace } from "./shared-place.ts";

/** The lease of the log that a proof uses when it needs only one. */
export const chatLease: LeaseName = { collection: "chats", key: chat };

/** One process of a place: its storage, and the collections that the proofs use. */
export interface Writer {
  readonly storage: Storage;
  readonly leases: Leases;
  readonly cluster: Cluster;
  readonly log: LogStore;
  readonly documents: DocumentStore;
}

export async function join(place: SharedPlace): Promise<Writer> {
  const storage = await place.join();
  return {
    storage,
    leases: storage.leases,
    cluster: storage.cluster,
    log: logsOf(storage),
    documents: documentsOf(storage),
  };
}

/** Longer than any proof takes: one that waits for what never comes fails. */
const proofMs = 60_000;

/** A proof about a place that nothing else uses. */
export function withPlace(proof: (place: SharedPlace) => Promise<void>): SharedClause["proof"] {
  return async (openPlace) => {
    await using place = await openPlace();
    await inTime(proof(place));
  };
}

async function inTime(proof: Promise<void>): Promise<void> {
  const late = Promise.withResolvers<never>();
  const cancel = systemTimers.after(proofMs, () => {
    late.reject(new Error(`the proof did not end within ${proofMs / 1_000} s`));
  });
  try {
    await Promise.race([proof, late.promise]);
  } finally {
    cancel();
  }
}

/** A proof about two processes of one place. */
export function withTwo(
  proof: (a: Writer, b: Writer, place: SharedPlace) => Promise<void>,
): SharedClause["proof"] {
  return withPlace(async (place) => proof(await join(place), await join(place), place));
}

/** A proof about three processes of one place. */
export function withThree(
  proof: (a: Writer, b: Writer, c: Writer, place: SharedPlace) => Promise<void>,
): SharedClause["proof"] {
  return withPlace(async (place) =>
    proof(await join(place), await join(place), await join(place), place),
  );
}

/** A proof about four processes of one place. */
export function withFour(
  proof: (writers: readonly Writer[], place: SharedPlace) => Promise<void>,
): SharedClause["proof"] {
  return withPlace(async (place) => {
    const writers: Writer[] = [];
    while (writers.length < 4) writers.push(await join(place));
    await proof(writers, place);
  });
}

/** So many messages whose ids begin with this name: `a1`, `a2` and so on. */
export function messagesOf(name: string, count: number): LogRecord[] {
  return Array.from({ length: count }, (_, index) => message(`${name}${index + 1}`));
}

/** Asserts that a log numbers its records from 1 without gaps, each id once. @returns the ids. */
export async function wholeIds(log: LogStore, key = chat): Promise<string[]> {
  const records = await everything(log, key);
  assert.deepEqual(
    records.map((record) => record.seq),
    records.map((_, index) => index + 1),
  );
  const ids = records.map((record) => record.id);
  assert.equal(new Set(ids).size, ids.length);
  return ids;
}

/** Of what began with one name: the numbers after it, in the order of the log. */
export function inOrderOf(name: string, ids: readonly string[]): number[] {
  return ids.filter((id) => id.startsWith(name)).map((id) => Number(id.slice(name.length)));
}

/** Looks again and again while calls are under way, and once when all of them have answered. */
export async function during(
  calls: readonly Promise<unknown>[],
  look: () => Promise<void>,
): Promise<void> {
  let isOver = false;
  const over = Promise.allSettled(calls).then(() => {
    isOver = true;
  });
  while (!isOver) await look();
  await over;
  await Promise.all(calls);
  await look();
}

/** Lets another process acquire the lease of a sleeping one, which then wakes without it. */
export async function takeOver(sleeper: Writer, taker: Writer, place: SharedPlace) {
  const lost = await sleeper.leases.acquire(chatLease);
  await place.sleep(sleeper.storage);
  const taken = await taker.leases.acquire(chatLease);
  await place.wake(sleeper.storage);
  return { lost, taken };
}

export interface Received {
  readonly message: JsonObject;
  readonly processId: string;
}

/** Collects what a process receives until so many messages said `{ end: true }`; those are left out. */
export function receivedUntilEnd({ cluster }: Writer, ends = 1): Promise<Received[]> {
  const received: Received[] = [];
  let left = ends;
  return new Promise((resolve) => {
    const stop = cluster.subscribe((message, processId) => {
      if (message["end"] !== true) {
        received.push({ message, processId });
        return;
      }
      left--;
      if (left > 0) return;
      stop();
      resolve(received);
    });
  });
}

export const end: JsonObject = { end: true };

/** What a subscriber receives while another process publishes these messages. */
export async function receivedFrom(
  publisher: Writer,
  subscriber: Writer,
  messages: readonly JsonObject[],
): Promise<JsonObject[]> {
  const received = receivedUntilEnd(subscriber);
  for (const message of messages) publisher.cluster.publish(message);
  publisher.cluster.publish(end);
  return (await received).map(({ message }) => message);
}

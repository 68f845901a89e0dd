// A call with one statement lost, at every statement in turn: what it answered, and what is there then.
import assert from "node:assert/strict";
import type pg from "pg";
import { systemClock } from "../../src/core/clock.ts";
import { errorName } from "../../src/core/errors.ts";
import { randomId } from "../../src/core/ids.ts";
import { silentLogger } from "../../src/core/logger.ts";
import type { DocumentStore } from "../../src/core/storage/document-store.ts";
import type { LogStore } from "../../src/core/storage/log-store.ts";
import { systemTimers } from "../../src/core/timers.ts";
import { Calls } from "../../src/postgres/calls.ts";
import { PostgresDocumentStore } from "../../src/postgres/postgres-document-store.ts";
import { PostgresLogStore } from "../../src/postgres/postgres-log-store.ts";
import {
  contractProjection,
  everything,
  listed,
  message,
  removal,
} from "../../src/testing/log-store-contract-fixtures.ts";
import { databaseOf } from "./test-database.ts";
import { type Loss, lose, lostConnection, WrappedPool } from "./wrapped-pool.ts";

interface Stores {
  readonly log: LogStore;
  readonly documents: DocumentStore;
}

const head = { updated_at: "2026-11-22T05:00:00.000Z", labels: ["unanswered"] };
type StoreCall = (stores: Stores) => Promise<unknown>;

/** Every kind of call, by a phrase for it. */
export const storeCalls: Readonly<Record<string, StoreCall>> = {
  "an append": ({ log }) => log.append("a", [message("m3"), message("m4")]),
  "an append with head and expected seq": ({ log }) =>
    log.append("a", [message("m3")], { expectedSeq: 2, head }),
  "an append that begins a log": ({ log }) => log.append("b", [message("m1")], { expectedSeq: 0 }),
  "an append that hides a message": ({ log }) => log.append("a", [removal("r1", "m1")]),
  "an append of what is stored in part": ({ log }) =>
    log.append("a", [message("m2"), message("m3")]),
  "an append at a wrong seq": ({ log }) => log.append("a", [message("m3")], { expectedSeq: 1 }),
  "an append under a used id": ({ log }) => log.append("a", [message("m2", "other words")]),
  "an erasure": ({ log }) => log.erase("a", ["m1", "m2"], { expectedSeq: 2, head }),
  "an erasure at a wrong seq": ({ log }) => log.erase("a", ["m1"], { expectedSeq: 1, head }),
  "a deletion": ({ log }) => log.delete("a"),
  "a tail": ({ log }) => log.tail("a", 10),
  "a page": ({ log }) => log.page("a", { after: 1, limit: 10 }),
  "a search": ({ log }) => log.search("says", { limit: 10 }),
  "a list": ({ log }) => log.list({ limit: 10, label: "unanswered" }),
  "a write of a document": ({ documents }) => documents.write("state", { mood: 2 }),
  "a write of a new document": ({ documents }) =>
    documents.write("other", { mood: 2 }, { expectedRevision: 0 }),
  "a write at the expected revision": ({ documents }) =>
    documents.write("state", { mood: 2 }, { expectedRevision: 1 }),
  "a write at another revision": ({ documents }) =>
    documents.write("state", { mood: 2 }, { expectedRevision: 4 }),
  "a deletion of a document": ({ documents }) => documents.delete("state"),
  "the keys of the documents": ({ documents }) => documents.keys(),
};

/** What a call answered, and everything that is there afterwards. */
async function history(
  pool: pg.Pool,
  call: StoreCall,
  given: { readonly at: number; readonly loss: Loss },
) {
  let isArmed = false;
  let statements = 0;
  let lostText: string | undefined;
  const lossy = new WrappedPool(pool, async (client, statement) => {
    if (!isArmed || ++statements !== given.at) return client.query(statement);
    lostText = statement.text;
    await lose(client, statement, given.loss);
    throw lostConnection();
  });
  const database = databaseOf(lossy);
  const calls = new Calls();
  const companion = `companion-${randomId()}`;
  const around = { clock: systemClock, timers: systemTimers, logger: silentLogger };
  const own = { database, calls, companion, newId: randomId, epochs: new Map() };
  const ports = { ...own, ...around };
  const log = new PostgresLogStore(ports, "chats", contractProjection);
  const documents = new PostgresDocumentStore(ports, "session");
  await log.append("a", [message("m1"), message("m2")]);
  await documents.write("state", { mood: 1 });
  isArmed = true;
  const outcome = await call({ log, documents }).catch(errorName);
  const left = {
    outcome,
    a: [await log.tail("a", 0), await everything(log, "a")],
    b: await everything(log, "b"),
    listed: await listed(log),
    found: await log.search("says", { limit: 10 }),
    documents: [await documents.read("state"), await documents.read("other")],
  };
  return { lostText, left };
}

/** Asserts that a call ends as it does without a loss, whichever of its statements is lost. */
export async function endsAsWithoutLoss(pool: pg.Pool, call: StoreCall, loss: Loss): Promise<void> {
  const { left } = await history(pool, call, { at: 0, loss });
  for (let at = 1, lost = true; lost; at++) {
    const found = await history(pool, call, { at, loss });
    lost = found.lostText !== undefined;
    assert.deepEqual(found.left, left, `statement ${at}: ${found.lostText}`);
  }
}

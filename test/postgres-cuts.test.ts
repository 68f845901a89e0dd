// F1, R15: a connection that is cut at a message of the protocol, in either direction. Every message of
// every call, and connections that freeze: test/full/postgres-cuts.test.ts.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { cutCalls, endsAsWithoutFault, inCutWorld } from "./support/postgres-cuts.ts";
import { noPostgres, withPostgres } from "./support/test-postgres.ts";

const skip = noPostgres();
const server = skip === undefined ? await withPostgres() : undefined;
const url = (await server?.newDatabase()) ?? "";

/** Which messages: of a transaction fewer. */
const steps: Readonly<Record<string, number>> = {
  "an append": 2,
  "an append under a lease": 3,
  "an erasure": 13,
  "a deletion": 13,
  "a write of a document": 3,
  "the taking of a lease": 3,
  "the release of a lease": 3,
  "the telling of the others": 3,
};

let points = 0;

describe("a connection that is cut", { concurrency: 4, skip }, () => {
  for (const [name, step] of Object.entries(steps)) {
    test(`${name} cut at one message in ${step} ends as it does without`, () =>
      inCutWorld(url, 4_000, async (world) => {
        const call = cutCalls[name]!;
        for (const plan of [
          { direction: "request", fault: "cut before" },
          { direction: "request", fault: "cut after" },
          { direction: "reply", fault: "cut before" },
        ] as const) {
          const hits = await endsAsWithoutFault(world, call, plan, step);
          points += hits.length;
        }
      }));
  }
});

test("at least 40 cuts were settled", { skip }, (t) => {
  t.diagnostic(`${points} cuts`);
  assert.ok(points >= 40, String(points));
});

// "Databases of version 0.1 open unchanged": the rows that 0.1 wrote, opened with today's code, hold what
// 0.1 itself found in them.
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { openPostgresStorage } from "../src/postgres/postgres.ts";
import { courseOf, emotionsIn, wakes } from "./support/golden-companion.ts";
import {
  assertHolds,
  chatsOf,
  expected,
  openAt,
  original,
  postgresDump,
} from "./support/golden-homes.ts";
import { noPostgres, withPostgres } from "./support/test-postgres.ts";

const skip = noPostgres();
const server = skip === undefined ? await withPostgres() : undefined;

/** A database as 0.1 left it, when its leases have lapsed, and one companion in it. */
async function opened(t: TestContext, companion: string, at: string) {
  assert.ok(server !== undefined);
  const pool = server.pool(await server.newDatabase());
  await pool.query(postgresDump());
  const lapsed = "update throughline.logs set lease_until = now() where lease_until is not null";
  const { rowCount } = await pool.query(lapsed);
  assert.ok(Number(rowCount) > 0, "no server of 0.1 held anything");
  const before = await recordsOf(pool, companion);
  const storage = await openPostgresStorage({ pool, companion, durability: "process" });
  const memories = await openAt(at, { storage });
  t.after(() => memories.close());
  return { memories, before, recordsNow: () => recordsOf(pool, companion) };
}

type Pool = ReturnType<NonNullable<typeof server>["pool"]>;

/** Every record of a companion, as its exact text. */
async function recordsOf(pool: Pool, companion: string): Promise<ReadonlyMap<string, string>> {
  const text = "select collection, key, seq, body from throughline.records where companion = $1";
  const { rows } = await pool.query(text, [companion]);
  return new Map(
    rows.map(({ collection, key, seq, body }) => [`${collection}/${key}/${seq}`, body]),
  );
}

const soon = "2026-03-04T09:52:23.400Z";
const crashed = "2026-03-07T07:11:00.000Z";

for (const { companion, at, span, options, says } of [
  {
    companion: "nova",
    at: crashed,
    span: ["2026-03-07T07:00:00.000Z", "2026-03-07T07:20:00.000Z"],
    options: {},
    says: "a companion on PostgreSQL whose server of 0.1 died in the middle of an answer",
  },
  {
    companion: "moved",
    at: soon,
    span: ["2026-03-04T09:00:00.000Z", "2026-03-04T09:55:00.000Z"],
    options: { emotions: emotionsIn(original("memories")) },
    says: "a companion that 0.1 moved from its home to PostgreSQL",
  },
] as const) {
  test(`${says}: chats, sessions, feelings, nothing lost`, { skip }, async (t) => {
    const { list, chats, found, companion: woken } = expected("postgres")[companion];
    const { memories, before, recordsNow } = await opened(t, companion, at);
    assertHolds(await chatsOf(memories), { list, chats, found });
    const { course, ...listing } = woken;
    const now = await wakes(memories, options);
    assertHolds(now.listing, listing);
    assertHolds(await courseOf(now.companion, span), course);
    await memories.close();
    const after = await recordsNow();
    assert.ok(before.size > 20);
    for (const [place, body] of before) assert.equal(after.get(place), body, place);
  });
}

test("a companion that moved holds what the home that it came from holds", () => {
  const { list, chats } = expected("memories")[soon];
  const moved = expected("postgres").moved;
  assert.deepEqual([moved.list, moved.chats], [list, chats]);
});

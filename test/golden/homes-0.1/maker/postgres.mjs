// The database `postgres.sql`: one companion whose server was up when the database was written out, as
// if both had died then, and one that was moved there from the home `memories`.
import fs from "node:fs";
import pg from "pg";
import { turnsOf } from "./memories.mjs";
import { throughlineCommand } from "./processes.mjs";
import { code, counting, HeldClock } from "./world.mjs";

const { openThroughline } = await code("src/index.ts");
const { openPostgresStorage } = await code("src/storage/postgres/postgres.ts");
const { startPostgres } = await code("test/test-postgres.ts");

async function begin(pool, clock, prefix) {
  const newId = counting(prefix);
  const storage = await openPostgresStorage({ pool, companion: "nova", clock, newId });
  const throughline = await openThroughline({ storage, clock, newId });
  const companion = await throughline.startCompanion({ pid: 4711 });
  const turns = turnsOf(throughline, clock, newId, companion);
  const say = async (chatId, content, more = {}) => {
    clock.pass(2_000);
    await turns.submit(chatId, { content, id: newId(), ...more }).done;
    companion.tick();
  };
  return { throughline, storage, companion, turns, say, ...throughline };
}

async function firstRun(pool, clock) {
  const { throughline, companion, say, chats, sessions } = await begin(pool, clock, "p");
  companion.personSeen("Ori");
  await say("telegram:42", "What time is it in Lund?");
  await say("telegram:42", "Als GPT, bitte 🦊", { provider: "openai", model: "gpt-5" });
  await chats.setMetadata("telegram:42", {
    user_timezone: "Asia/Tokyo",
    "q'uote": 'back\\slash "$1" ; --',
  });
  await say("team:erased", "The secret is under the third stone");
  const { messages } = await chats.messages("team:erased");
  await chats.erase("team:erased", messages[0].id);
  await chats.redact("telegram:42", (await chats.messages("telegram:42")).messages[0].id);
  await say("secret:gone", "Keep this to yourself");
  await chats.forget("secret:gone");
  await sessions.reset("team:erased");
  clock.pass(31_000);
  companion.tick();
  await companion.save();
  await throughline.close();
}

/** Ten minutes later: in the middle of an answer when the database is written out. */
async function secondRun(pool, clock) {
  clock.pass(10 * 60_000);
  const { throughline, companion, turns, say } = await begin(pool, clock, "q");
  await say("local:me", "Tell me about space");
  companion.emotions.event("violence");
  await companion.save();
  const running = turns.submit("telegram:42", { id: "cut", content: "Talk until you are stopped" });
  for await (const { type } of running.progress()) if (type === "text") break;
  return throughline;
}

const quoted = (name) => `"${name.replaceAll('"', '""')}"`;

/** Tables, their rows and their indexes, as statements. */
async function dumpOf(pool) {
  const rowsOf = async (text, values) => (await pool.query(text, values)).rows;
  const tables =
    await rowsOf(`select c.oid, c.relname as name, array_to_string(c.reloptions, ', ') as options
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname = 'throughline' and c.relkind = 'r' order by c.relname`);
  const statements = ["create schema throughline;"];
  for (const { oid, name, options } of tables) {
    const columns = await rowsOf(
      `select a.attname as name, format_type(a.atttypid, a.atttypmod) || case when co.collname = 'C' then ' collate "C"' else '' end
        || coalesce(' default ' || pg_get_expr(d.adbin, d.adrelid), '') || case when a.attnotnull then ' not null' else '' end as type
      from pg_attribute a left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
        left join pg_collation co on co.oid = a.attcollation
      where a.attrelid = $1 and a.attnum > 0 and not a.attisdropped order by a.attnum`,
      [oid],
    );
    const keys = await rowsOf(
      `select conname as name, pg_get_constraintdef(oid) as says from pg_constraint where conrelid = $1 and contype = 'p'`,
      [oid],
    );
    const lines = [
      ...columns.map((column) => `  ${quoted(column.name)} ${column.type}`),
      ...keys.map((key) => `  constraint ${quoted(key.name)} ${key.says}`),
    ];
    statements.push(
      `create table throughline.${name} (\n${lines.join(",\n")}\n)${options ? ` with (${options})` : ""};`,
    );
    const names = columns.map((column) => quoted(column.name));
    const values = names.map((column) => `quote_nullable(${column}::text)`).join(" || ', ' || ");
    const rows = await rowsOf(`select ${values} as row from throughline.${name} order by 1`);
    for (const { row } of rows) statements.push(`insert into throughline.${name} values (${row});`);
  }
  const indexes = await rowsOf(`select indexdef from pg_indexes where schemaname = 'throughline'
    and indexname not in (select conname from pg_constraint) order by tablename, indexname`);
  return `${[...statements, ...indexes.map(({ indexdef }) => `${indexdef};`)].join("\n")}\n`;
}

/** Every table of a database, as it was made by 0.1. @returns what another look needs. */
export async function makePostgres(file, memories, at) {
  const server = await startPostgres();
  const pool = new pg.Pool({ connectionString: server.url });
  pool.on("error", () => undefined);
  const clock = new HeldClock(at);
  await firstRun(pool, clock);
  const url = `${server.url}?companion=moved`;
  throughlineCommand(["export", "--to", url, "--home", memories], {
    at: "2026-03-07T08:00:00.000Z",
  });
  const throughline = await secondRun(pool, clock);
  fs.writeFileSync(file, `-- Made by Throughline 0.1.0.\n${await dumpOf(pool)}`);
  return { server, pool, throughline };
}

/** Runs such a file in an empty database, and opens one companion of it. */
export async function openDump({ server, pool }, file, name, companion, clockAt) {
  await pool.query(`create database ${name} template template0 encoding 'UTF8'`);
  const url = new URL(server.url);
  url.pathname = name;
  const own = new pg.Pool({ connectionString: url.href });
  own.on("error", () => undefined);
  await own.query(fs.readFileSync(file, "utf8"));
  await own.query("update throughline.logs set lease_until = now() where lease_until is not null");
  return openPostgresStorage({
    pool: own,
    companion,
    clock: new HeldClock(clockAt),
    newId: counting("open"),
  });
}

// The command line on a real PostgreSQL: talking, looking, moving a companion there and back.
import assert from "node:assert/strict";
import fs from "node:fs";
import { join } from "node:path";
import { after, type TestContext, test } from "node:test";
import pg from "pg";
import { fakeIo, Process, runCli, temporaryDirectory } from "../support/command-line.ts";
import { noPostgres, startPostgres, type TestServer } from "../support/test-postgres.ts";

const skip = noPostgres() ?? false;
const password = "s3cr3t";
let server: TestServer | undefined;
if (!skip) {
  server = await startPostgres();
  after(async () => {
    await server?.stop();
    fs.rmSync(server?.directory ?? "", { recursive: true, force: true });
  });
}

let companions = 0;

/** A home, and a companion of its own in the database. The server trusts: any password will do. */
function places(t: TestContext) {
  const folder = temporaryDirectory(t);
  const url = new URL(server?.url ?? "");
  url.password = password;
  url.searchParams.set("companion", `c${++companions}`);
  return { folder, home: join(folder, "home"), back: join(folder, "back"), store: url.href };
}

async function ok(args: readonly string[], home: string, input = ""): Promise<string> {
  const { code, out, err } = await runCli(args, { home, io: fakeIo(input) });
  assert.equal(code, 0, err);
  assert.ok(!`${out}${err}`.includes(password), "no password in any output");
  return out;
}

const said = "hello database\nand again\n";

test("a chat with --store is kept in the database, and in no file of the home", {
  skip,
}, async (t) => {
  const { home, store } = places(t);
  await ok(["chat", "--store", store], home, said);
  const listed = JSON.parse(await ok(["sessions", "list", "--store", store, "--json"], home));
  assert.equal(listed.chats[0].chat_id, "local:me");
  assert.equal(listed.chats[0].message_count, 4);
  assert.match(await ok(["sessions", "search", "database", "--store", store], home), /hello/);
  for (const name of ["chats", "runs.jsonl", "session"]) {
    assert.equal(fs.existsSync(join(home, name)), false, name);
  }
  await ok(["sessions", "forget", "local:me", "--yes", "--store", store], home);
  const left = await runCli(["sessions", "show", "local:me", "--store", store], { home });
  assert.match(left.err, /THROUGHLINE_NOT_FOUND/);
});

/** Without what differs by the time at which it was asked. */
async function exported(home: string, out: string, store = "files"): Promise<readonly string[]> {
  await ok(["export", "--format", "throughline", "--out", out, "--store", store], home);
  const names = fs.readdirSync(out).sort();
  return names.map((name) => `${name}\n${fs.readFileSync(join(out, name), "utf8")}`);
}

test("a home moved to the database and back exports the same bytes everywhere, and says what stays", {
  skip,
}, async (t) => {
  const { folder, home, back, store } = places(t);
  await ok(["chat"], home, said);
  await ok(["chat", "--chat", "work"], home, "one\ntwo\n");
  await ok(["chat", "--chat", "gone"], home, "secret\n");
  await ok(["sessions", "forget", "gone", "--yes"], home);
  fs.writeFileSync(join(home, "persona.md"), "You are Nova.\n");
  const before = fs.readdirSync(join(home, "chats"));

  const there = JSON.parse(await ok(["export", "--to", store, "--json"], home));
  assert.equal(there.to, store.replace(`:${password}`, ""));
  assert.equal(there.documents, 1);
  assert.ok(there.stays.includes("persona.md"));
  assert.deepEqual(fs.readdirSync(join(home, "chats")), before, "the source is as it was");

  const here = JSON.parse(await ok(["import", store, "--from", "store", "--json"], back));
  assert.deepEqual([here.logs, here.records], [there.logs, there.records]);
  const texts = [
    await exported(home, join(folder, "1")),
    await exported(home, join(folder, "2"), store),
    await exported(back, join(folder, "3")),
  ];
  assert.equal(texts[0]?.length, 2);
  assert.deepEqual(texts[1], texts[0]);
  assert.deepEqual(texts[2], texts[0]);
  for (const name of ["runs.jsonl", "moods.jsonl"]) {
    if (!fs.existsSync(join(home, name))) continue;
    assert.equal(readRecords(join(back, name)), readRecords(join(home, name)), name);
  }
});

/** The records of a log file, without the lines that seal the batches. */
function readRecords(path: string): string {
  const lines = fs.readFileSync(path, "utf8").split("\n");
  return lines.filter((line) => /"seq":/.test(line) && !/"kind":"commit"/.test(line)).join("\n");
}

test("a store that went on is not overwritten: the refusal names what, and no command of the home changes", {
  skip,
}, async (t) => {
  const { home, store } = places(t);
  await ok(["chat"], home, "one\n");
  const out = await ok(["export", "--to", store], home);
  assert.match(
    out,
    /^Copied to postgres:.*\nEvery log has as many records there, and the same head/,
  );
  await ok(["chat", "--store", store], home, "two\n");
  const refused = await runCli(["export", "--to", store], { home });
  assert.equal(refused.code, 1);
  assert.match(
    refused.err,
    /it holds chats\/local:me\. Nothing was written \[THROUGHLINE_CONFLICT\]\nChoose an/,
  );
  assert.ok(!refused.err.includes(password));
});

test("a move that was interrupted is told of, refused to everybody, and starts over when it is run again", {
  skip,
}, async (t) => {
  const { home, store } = places(t);
  await ok(["chat"], home, "one\n");
  const io = fakeIo();
  const write = io.errors.write.bind(io.errors);
  io.errors.write = ((text: string, ...rest: never[]) => {
    if (text.startsWith("copied ")) io.signal("SIGINT");
    return write(text, ...rest);
  }) as typeof io.errors.write;
  const stopped = await runCli(["export", "--to", store], { home, io });
  assert.equal(stopped.code, 130);
  assert.match(stopped.err, /Stopped\. Run the same command again: it starts over\.\n$/);
  const refused = await runCli(["sessions", "list", "--store", store], { home });
  assert.match(
    refused.err,
    /the copy to postgres:.* is not finished \[THROUGHLINE_CONFLICT\]\nRun/,
  );
  const doctor = await runCli(["doctor", "--store", store], { home });
  assert.match(doctor.out, /note +the copy to this store .* is not finished/);
  await ok(["export", "--to", store], home);
  await ok(["sessions", "list", "--store", store], home);
});

test("doctor tells the server, what it keeps, its schema, its connections, and reads every log", {
  skip,
}, async (t) => {
  const { home, store } = places(t);
  await ok(["chat", "--store", store], home, said);
  const findings = JSON.parse(await ok(["doctor", "--store", store, "--json"], home));
  const byId = new Map<string, { status: string; says: string }>(
    findings.checks.map((check: { id: string }) => [check.id, check]),
  );
  const says = (id: string) => `${byId.get(id)?.status} ${byId.get(id)?.says}`;
  assert.match(says("store"), /^ok PostgreSQL \d+.* at postgres:.*companion=c\d+, the primary$/);
  assert.match(
    says("store.durability"),
    /^ok fsync on, full_page_writes on, synchronous_commit on/,
  );
  assert.match(says("store.standbys"), /^note no synchronous standby/);
  assert.match(says("store.role"), /^note .*superuser/);
  assert.match(says("store.tls"), /^ok .* stays on this machine$/);
  assert.match(says("store.schema"), /^ok version \d+; this program knows \d+$/);
  assert.match(says("store.pool"), /^ok \d+ of \d+ connections/);
  assert.match(says("store.logs"), /^ok \d+ records in \d+ logs, all of them read$/);
  assert.equal(findings.damaged, false);
});

test("doctor ends with 1 when what the database holds cannot be read in time, and calls it no damage", {
  skip,
}, async (t) => {
  const { home, store } = places(t);
  await ok(["chat", "--store", store], home, said);
  const client = new pg.Client({ connectionString: server?.url });
  await client.connect();
  await client.query("begin; lock table throughline.records in access exclusive mode");
  const { code, out } = await runCli(["doctor", "--store", store, "--json"], { home });
  await client.end();
  const { damaged, failed, checks } = JSON.parse(out);
  assert.deepEqual({ code, damaged, failed }, { code: 1, damaged: false, failed: true });
  const { status } = checks.find(({ id }: { id: string }) => id === "store.open");
  assert.equal(status, "failed");
});

/** The statements of docs/guides/postgresql.md, block by block. */
function documentedStatements(): readonly (readonly string[])[] {
  const page = fs.readFileSync(
    join(import.meta.dirname, "../../docs/guides/postgresql.md"),
    "utf8",
  );
  const blocks = [...page.matchAll(/^```sql\n([\s\S]*?)^```$/gm)];
  return blocks.map(([, sql = ""]) => sql.split(";\n").filter((each) => each.trim() !== ""));
}

test("the roles and rights of docs/guides/postgresql.md are enough to create the schema, to serve and to vacuum, and no more; without one a command says which", {
  skip,
}, async (t) => {
  const { home } = places(t);
  const urlOf = (user: string, database: string) => {
    const url = new URL(server?.url ?? "");
    url.username = user;
    url.pathname = database;
    return url.href;
  };
  const run = async (url: string, statements: readonly string[] = []) => {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    try {
      for (const statement of statements) await client.query(statement);
    } finally {
      await client.end();
    }
  };
  const [roles, rights, vacuum] = documentedStatements();
  await run(server?.url ?? "", roles);
  const [owner, app] = [urlOf("throughline_owner", "chats"), urlOf("throughline_app", "chats")];
  const early = await runCli(["chat", "--store", app], { home, io: fakeIo("too early\n") });
  assert.match(early.err, /THROUGHLINE_CONFIGURATION/);
  await ok(["sessions", "list", "--store", owner], home);
  await run(owner, rights);
  await ok(["chat", "--store", app], home, said);
  assert.match(await ok(["sessions", "search", "database", "--store", app], home), /hello/);
  await ok(["sessions", "forget", "local:me", "--yes", "--store", app], home);
  const doctor = await ok(["doctor", "--store", app], home);
  assert.doesNotMatch(doctor, /superuser/);
  await run(owner, [...(vacuum ?? []), "create table throughline.later (id text)"]);
  await run(app, ["insert into throughline.later values ('a')"]); // a table of a later version
  await assert.rejects(run(app, ["create table throughline.mine (a int)"]), { code: "42501" });
  for (const right of ["select", "insert", "update", "delete"]) {
    await run(owner, [`revoke ${right} on throughline.files from throughline_app`]);
    const { err } = await runCli(["sessions", "list", "--store", app], { home });
    const says = `this role may not .*${right} on throughline.files.*: grant it`;
    assert.match(err, new RegExp(`${says}.*THROUGHLINE_CONFIGURATION`));
  }
});

test("no table of the database holds what was only in the URL", { skip }, async (t) => {
  const { home, store } = places(t);
  await ok(["chat"], home, "one\n");
  await ok(["export", "--to", store], home);
  const client = new pg.Client({ connectionString: server?.url });
  await client.connect();
  const { rows } = await client.query("select body from throughline.records");
  await client.end();
  assert.ok(rows.length > 0 && rows.every(({ body }) => !String(body).includes(password)));
});

test("two servers with one home and one database serve the same chats; one of them keeps moments", {
  skip,
}, async (t) => {
  const { home, store } = places(t);
  const start = async () => {
    const args = ["serve", "--port", "0", "--store", store];
    const running = new Process(t, args, { home, variables: { LOG_LEVEL: "warn" } });
    await running.out.has(/listening on \S+ \(store postgres:/);
    return { running, url: /on (\S+) /.exec(running.out.text)?.[1] ?? "" };
  };
  const first = await start();
  const second = await start();
  assert.match(second.running.err.text, /another process records the moments of this home/);
  const sent = await fetch(`${first.url}/api/chats/a/messages`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ content: "hello" }),
  });
  assert.equal(sent.status, 200);
  const metrics = await (await fetch(`${first.url}/metrics`)).text();
  assert.match(metrics, /^throughline_postgres_connections [1-9]/m);
  assert.match(metrics, /^# TYPE throughline_lease_waits_total counter$/m);
  const { messages } = (await (await fetch(`${second.url}/api/chats/a/messages`)).json()) as {
    messages: { content: string }[];
  };
  assert.equal(messages[0]?.content, "hello");
  const locked = await runCli(["export", "--store", store, "--to", join(home, "../x")], { home });
  assert.match(
    locked.err,
    /a server runs this companion on the source.*THROUGHLINE_LOCKED\]\nStop every `throughline serve`/,
  );
  for (const { running } of [first, second]) {
    running.child.kill("SIGTERM");
    assert.equal((await running.ended()).code, 0, running.err.text);
    assert.ok(!`${running.out.text}${running.err.text}`.includes(password));
  }
});

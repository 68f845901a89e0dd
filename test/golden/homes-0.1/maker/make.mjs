// Makes the homes, the bucket and the database in this folder again. Start it in a checkout of 0.1 (the
// commit is in README.md) in which `npm ci` was run, and name the folder to write:
//
//   node <here>/make.mjs <folder>
import fs from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { makeKilled } from "./killed.mjs";
import { exportsOf, look, wakes } from "./look.mjs";
import { emotionsOf, makeMemories } from "./memories.mjs";
import { credentials, makeOwed, S3Server } from "./owed.mjs";
import { makePostgres, openDump } from "./postgres.mjs";
import { sha256 } from "./world.mjs";

const out = process.argv[2];
if (out === undefined) throw new Error("name the folder to write");
const scratch = fs.mkdtempSync(join(tmpdir(), "golden-"));
const at = (name) => join(out, name);
fs.mkdirSync(out, { recursive: true });

/** A copy to look at: looking leaves marks in a home. */
let copies = 0;
function copyOf(name) {
  const copy = join(scratch, `copy-${++copies}`);
  fs.cpSync(at(name), copy, { recursive: true });
  return copy;
}

function write(name, value) {
  fs.writeFileSync(at(`${name}.json`), `${linesOf(value, 5)}\n`);
}

/** JSON with a line for each member, down to a depth: what lies below is one line. */
function linesOf(value, depth, indent = "") {
  if (depth === 0 || typeof value !== "object" || value === null) return JSON.stringify(value);
  const members = Array.isArray(value) ? value.map((each) => ["", each]) : Object.entries(value);
  const own = members.filter(([, each]) => each !== undefined);
  if (own.length === 0) return JSON.stringify(value);
  const more = `${indent} `;
  const lines = own.map(([name, each]) => {
    const prefix = Array.isArray(value) ? "" : `${JSON.stringify(name)}: `;
    return more + prefix + linesOf(each, depth - 1, more);
  });
  const [open, close] = Array.isArray(value) ? ["[", "]"] : ["{", "}"];
  return `${open}\n${lines.join(",\n")}\n${indent}${close}`;
}

/** What is derived, or of the process alone, is left out; indexes lie beside, packed. */
function strip(home, indexes) {
  for (const name of ["index.db", "index.db-wal"]) {
    const path = join(at(home), name);
    if (!fs.existsSync(path)) continue;
    const packed = gzipSync(fs.readFileSync(path), { level: 9 });
    if (indexes) fs.writeFileSync(at(`${home}.${name}.gz`), packed);
    fs.rmSync(path);
  }
  fs.rmSync(join(at(home), "lock.db"), { force: true });
}

// A home that ended in order.
await makeMemories(at("memories"), scratch);
const span = ["2026-03-04T09:00:00.000Z", "2026-03-04T09:55:00.000Z"];
const emotions = emotionsOf(at("memories"));
const soon = "2026-03-04T09:52:23.400Z";
const afternoon = "2026-03-04T13:00:00.000Z";
write("memories", {
  [soon]: await look(copyOf("memories"), soon, { span, emotions }),
  [afternoon]: { companion: await wakes(copyOf("memories"), afternoon, { span, emotions }) },
  exports: exportsOf(copyOf("memories"), scratch, afternoon),
});

// One that was killed.
await makeKilled(at("killed"), scratch);
const later = ["2026-03-05T12:00:00.000Z", "2026-03-05T12:40:00.000Z"];
const atOnce = "2026-03-05T12:30:20.000Z";
const hoursLater = "2026-03-05T16:00:00.000Z";
write("killed", {
  [atOnce]: await look(copyOf("killed"), atOnce, { span: later }),
  [hoursLater]: { companion: await wakes(copyOf("killed"), hoursLater, { span: later }) },
});

// One that owes something to a bucket: what is there once the bucket is back.
const names = await makeOwed(at("owed"), at("owed.bucket"), scratch);
const server = await S3Server.start();
const home = copyOf("owed");
readdress(join(home, "outbox"), server.endpoint);
const began = Date.parse("2026-03-06T10:00:00.000Z");
for (const key of fs.readdirSync(at("owed.bucket"), { recursive: true })) {
  const path = join(at("owed.bucket"), key);
  if (fs.statSync(path).isFile()) server.place(key, fs.readFileSync(path), "moments", began);
}
const s3 = { bucket: "moments", endpoint: server.endpoint, credentials };
const { moments, left } = await look(home, "2026-03-06T12:00:00.000Z", {
  span: later,
  mode: "local+s3",
  s3,
});
const bucket = [...server.objects()].map(([key, { body }]) => [key, sha256(body)]).sort();
write("owed", { names, moments, left, bucket });
await server.close();

// A database.
const database = await makePostgres(
  at("postgres.sql"),
  copyOf("memories"),
  "2026-03-07T07:00:00.000Z",
);
const postgres = {};
const hour = ["2026-03-07T07:00:00.000Z", "2026-03-07T07:20:00.000Z"];
for (const [companion, when, own] of [
  ["nova", "2026-03-07T07:11:00.000Z", undefined],
  ["moved", soon, emotions],
]) {
  const storage = await openDump(
    database,
    at("postgres.sql"),
    `look_${companion}`,
    companion,
    when,
  );
  postgres[companion] = await look("", when, {
    span: companion === "nova" ? hour : span,
    storage,
    emotions: own,
  });
}
write("postgres", postgres);
await database.server.stop();
fs.rmSync(database.server.directory, { recursive: true, force: true });

strip("memories", true);
strip("killed", true);
strip("owed", false);
fs.rmSync(scratch, { recursive: true, force: true });
process.exit(0);

function readdress(outbox, endpoint) {
  for (const name of fs.readdirSync(outbox)) {
    const path = join(outbox, name);
    const text = fs.readFileSync(path, "utf8");
    fs.writeFileSync(
      path,
      text.replace(/"endpoint": "[^"]+"/, `"endpoint": ${JSON.stringify(endpoint)}`),
    );
  }
}

// Homes that version 0.1 wrote, copied to be opened today, and what they hold in the form of the
// listings that 0.1 wrote of them.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import fs from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { promisify } from "node:util";
import { gunzipSync } from "node:zlib";
import { type Clock, openThroughline, type Storage, type Throughline } from "../../src/index.ts";
import { program } from "./program.ts";

const fixtures = join(import.meta.dirname, "../golden/homes-0.1");

/** Of the machine on which the homes were written. */
const bootId = "0f7c2d4e-58a1-4b0e-9a53-7f1f3b6f2c11";
const bootedAt = Date.parse("2026-03-03T09:00:00.000Z");

/** A clock that stands still, on that machine. */
export function heldAt(at: string): Clock {
  const now = Date.parse(at);
  return {
    now: () => now,
    monotonic: () => 0,
    bootId: () => bootId,
    uptimeMs: () => now - bootedAt,
  };
}

/** What 0.1 said of one of them. */
// biome-ignore lint/suspicious/noExplicitAny: JSON of many shapes, which tests compare.
export function expected(name: "memories" | "killed" | "owed" | "postgres"): any {
  return JSON.parse(fs.readFileSync(join(fixtures, `${name}.json`), "utf8"));
}

export const postgresDump = () => fs.readFileSync(join(fixtures, "postgres.sql"), "utf8");

/** A copy of a home as 0.1 left it, with the modes that git does not keep; gone after the test. */
export function copyOf(t: TestContext, name: "memories" | "killed" | "owed"): string {
  const folder = fs.mkdtempSync(join(tmpdir(), "throughline-golden-"));
  t.after(() => fs.rmSync(folder, { recursive: true, force: true }));
  const home = join(folder, name);
  fs.cpSync(join(fixtures, name), home, { recursive: true });
  for (const part of ["index.db", "index.db-wal"]) {
    const packed = join(fixtures, `${name}.${part}.gz`);
    if (!fs.existsSync(packed)) continue;
    fs.writeFileSync(join(home, part), gunzipSync(fs.readFileSync(packed)));
  }
  fs.chmodSync(home, 0o700);
  for (const [path, entry] of entriesIn(home)) {
    fs.chmodSync(path, entry.isDirectory() ? 0o700 : 0o600);
  }
  return home;
}

function entriesIn(folder: string): readonly (readonly [path: string, entry: fs.Dirent])[] {
  const entries = fs.readdirSync(folder, { recursive: true, withFileTypes: true });
  return entries.map((entry) => [join(entry.parentPath, entry.name), entry]);
}

/** Every file below a folder, by its path in it. */
export function filesIn(folder: string): ReadonlyMap<string, Buffer> {
  if (!fs.existsSync(folder)) return new Map();
  const files = entriesIn(folder).filter(([, entry]) => entry.isFile());
  const paths = files.map(([path]) => path).sort();
  return new Map(paths.map((path) => [path.slice(folder.length + 1), fs.readFileSync(path)]));
}

/** The files of a home as 0.1 left them, and of the bucket. */
export const original = (name: "memories" | "killed" | "owed" | "owed.bucket") =>
  filesIn(join(fixtures, name));

/** Opens memories at an instant; the ids that are made in it are the same each time. */
export function openAt(at: string, place: { home: string } | { storage: Storage }) {
  let made = 0;
  return openThroughline({ ...place, clock: heldAt(at), newId: () => `look${++made}` });
}

const words = ["Lund", "Nova", "日本語", "hunter2", "stone", "space", "Wait"];

/** Every chat: its row, its messages, its session, and where some words are found. */
export async function chatsOf({ chats, sessions }: Throughline) {
  const { chats: list } = await chats.list({ limit: 1_000 });
  const rows: Record<string, unknown> = {};
  for (const { chat_id: id } of list) {
    const { messages } = await chats.messages(id, { limit: 1_000 });
    rows[id] = { messages, session: (await sessions.active(id)) ?? null };
  }
  const found: Record<string, unknown> = {};
  for (const word of words) {
    const hits = await chats.search(word, { limit: 100 });
    found[word] = hits.map(({ chat_id, message }) => [chat_id, message.id]);
  }
  return { list, chats: rows, found };
}

/** Asserts that everything of a listing by 0.1 is there, and nothing else in its lists. */
export function assertHolds(actual: unknown, listing: unknown): void {
  assert.deepEqual(shapedAs(listing, JSON.parse(JSON.stringify(actual))), listing);
}

/** Without the members that objects have gained since. */
function shapedAs(listing: unknown, actual: unknown): unknown {
  if (Array.isArray(listing) && Array.isArray(actual)) {
    return actual.map((each, index) => shapedAs(listing[index], each));
  }
  if (!isObject(listing) || !isObject(actual)) return actual;
  const names = Object.keys(actual).filter((name) => Object.hasOwn(listing, name));
  return Object.fromEntries(names.map((name) => [name, shapedAs(listing[name], actual[name])]));
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A list that an assertion is about to go through. */
export function notEmpty<T>(list: readonly T[]): readonly T[] {
  assert.ok(list.length > 0, "nothing is compared");
  return list;
}

/** Runs a command line of today's program on a home, to its end. @returns what it printed. */
export async function throughline(home: string, ...args: readonly string[]): Promise<string> {
  const env = {
    HOME: join(home, ".."),
    THROUGHLINE_HOME: home,
    THROUGHLINE_MODEL: "offline",
    TZ: "UTC",
  };
  return (await promisify(execFile)(process.execPath, [program, ...args], { env })).stdout;
}

/** A log up to the end of its last commit: what comes behind it was never acknowledged. */
export function committed(log: Buffer): string {
  const lines = log.toString("latin1").split("\n").slice(0, -1);
  const isCommit = (line: string) => line.startsWith('{"_type":"metadata","kind":"commit"');
  return lines
    .slice(0, lines.findLastIndex(isCommit) + 1)
    .map((line) => `${line}\n`)
    .join("");
}

/** Asserts that each log of a home begins with all that 0.1 had committed there. @returns their names. */
export function assertOnlyAppended(home: string, before: ReadonlyMap<string, Buffer>) {
  const now = filesIn(home);
  const logs = [...before.keys()].filter((name) => name.endsWith(".jsonl"));
  for (const name of logs) {
    const kept = committed(before.get(name) ?? Buffer.of());
    assert.notEqual(kept, "", `${name} holds no commit`);
    assert.equal(now.get(name)?.subarray(0, kept.length).toString("latin1"), kept, name);
  }
  return logs;
}

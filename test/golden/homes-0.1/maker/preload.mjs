// Loaded before 0.1 in a process of its own. The wall clock and the machine are those that the maker
// names, and the file system stops at a chosen place: in a write (half of it is done), before a rename, a
// sync or an unlink. A call that is held never ends; `kill` ends the process there.
//
//   GOLDEN_AT     when the process begins, ISO 8601
//   GOLDEN_STOPS  a list of [call, pattern of the path, "hold" or "kill", pattern of what is written]
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import os from "node:os";

const bootId = "0f7c2d4e-58a1-4b0e-9a53-7f1f3b6f2c11";
const bootedAt = Date.parse("2026-03-03T09:00:00.000Z");

const beganAt = Date.parse(process.env.GOLDEN_AT);
const began = performance.now();
Date.now = () => Math.round(beganAt + performance.now() - began);
os.uptime = () => (Date.now() - bootedAt) / 1_000;
os.hostname = () => "nova";
const { readFileSync } = fs;
fs.readFileSync = (path, ...rest) =>
  path === "/proc/sys/kernel/random/boot_id" ? `${bootId}\n` : readFileSync(path, ...rest);

const stops = JSON.parse(process.env.GOLDEN_STOPS ?? "[]");
const never = new Promise(() => undefined);
const pathOf = (descriptor) => fs.readlinkSync(`/proc/self/fd/${descriptor}`);

/** Whether this call is one of those at which the process stops; `kill` does not return. */
function stopsAt(call, path, bytes) {
  const stop = stops.find(([name, where, , what]) => {
    const isHere = name === call && new RegExp(where).test(path);
    return isHere && (what === undefined || new RegExp(what).test(bytes?.toString("utf8") ?? ""));
  });
  if (stop !== undefined) globalThis.goldenStopped = true;
  return stop?.[2];
}
const die = () => process.kill(process.pid, "SIGKILL");

const { writeSync, rename, fdatasync, unlink } = fs;
const halves = new Set();
fs.writeSync = (descriptor, bytes, offset, length, position) => {
  const path = typeof bytes === "string" ? "" : pathOf(descriptor);
  const how = path === "" ? undefined : stopsAt("write", path, Buffer.from(bytes));
  if (how === undefined && !halves.has(path))
    return writeSync(descriptor, bytes, offset, length, position);
  // The driver asks again for the rest: that never ends.
  if (halves.has(path)) return never;
  halves.add(path);
  const done = writeSync(descriptor, bytes, offset, length >> 1, position);
  if (how === "kill") die();
  return done;
};
fs.rename = (from, to, done) => {
  const how = stopsAt("rename", from);
  if (how === "kill") die();
  if (how === undefined) rename(from, to, done);
};
fs.fdatasync = (descriptor, done) => {
  const how = stopsAt("sync", pathOf(descriptor));
  if (how === "kill") die();
  if (how === undefined) fdatasync(descriptor, done);
};
fs.unlink = (path, done) => {
  const how = stopsAt("unlink", path);
  if (how === "kill") die();
  if (how === undefined) unlink(path, done);
};
syncBuiltinESMExports();

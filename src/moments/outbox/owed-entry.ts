import { isJsonObject, type JsonObject } from "../../core/json.ts";
import { isPackageName, type OutboxEntry } from "../package/package-format.ts";
import type { RemoteRetraction } from "../package/target.ts";
import { searchOfId } from "./owed-search.ts";

/** An entry as it lies in the outbox: what every entry has, and what its kind needs. */
export interface OwedEntry extends OutboxEntry {
  /** Of the package's files together; 0 when not known. */
  readonly bytes?: number;
  /** Only a retraction's: the bytes of the object that says so. */
  readonly retraction?: RemoteRetraction;
  /** Only a deletion's: the package's files, for a bucket that cannot be listed. */
  readonly paths?: readonly string[];
}

export type EntryReading =
  | { readonly entry: OwedEntry; readonly problem?: never }
  /** `newer`: of a later version, to be left alone. `bad`: not an entry. */
  | { readonly problem: "bad" | "newer"; readonly entry?: never };

export function encodeEntry(entry: OwedEntry): Buffer {
  return Buffer.from(`${JSON.stringify(entry, undefined, 2)}\n`);
}

export function readEntry(bytes: Buffer): EntryReading {
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    return { problem: "bad" }; // torn, or never JSON
  }
  if (!isJsonObject(value)) return { problem: "bad" };
  const version = value["v"];
  if (typeof version === "number" && version > 1) return { problem: "newer" };
  return isEntry(value) ? { entry: value as unknown as OwedEntry } : { problem: "bad" };
}

function isEntry(value: JsonObject): boolean {
  const { v, kind, name, target, prefix, state, last_error: lastError } = value;
  if (v !== 1 || typeof name !== "string") return false;
  if (!kinds.some((one) => one === kind)) return false;
  if (kind === "search" ? searchOfId(name) === undefined : !isPackageName(name)) return false;
  if (state !== "saving" && state !== "pending" && state !== "parked") return false;
  if (!isPrefix(prefix, name) && (prefix !== "" || kind === "package")) return false;
  if (!isTarget(target) || typeof value["keep_local"] !== "boolean") return false;
  const numbers = ["attempts", "first_at", "next_at", "sent_through"];
  if (!numbers.every((member) => isCount(value[member]))) return false;
  if (value["bytes"] !== undefined && !isCount(value["bytes"])) return false;
  if (kind === "retraction" && !isRetraction(value["retraction"])) return false;
  if (!arePaths(value["paths"])) return false;
  return lastError === null || isJsonObject(lastError);
}

const kinds: readonly OwedEntry["kind"][] = [
  ...(["package", "sending", "retraction", "delete", "search"] as const),
];

/** A prefix is where things are written and removed: nothing else than a package's own. */
function isPrefix(prefix: unknown, name: string): boolean {
  if (typeof prefix !== "string" || !prefix.endsWith(`/${name}/`)) return false;
  return /^feedback\/[A-Za-z0-9._-]{1,100}\/[^/]+\/$/.test(prefix);
}

function isTarget(target: unknown): boolean {
  if (!isJsonObject(target)) return false;
  const { bucket, region, endpoint } = target;
  return typeof bucket === "string" && isTextOrNull(region) && isTextOrNull(endpoint);
}

function isRetraction(value: unknown): boolean {
  if (!isJsonObject(value)) return false;
  const { at, by, reason, superseded_by: other } = value;
  return isCount(at) && isTextOrNull(by) && isTextOrNull(reason) && isTextOrNull(other);
}

function arePaths(value: unknown): boolean {
  if (value === undefined) return true;
  return Array.isArray(value) && value.every((path) => typeof path === "string");
}

const isTextOrNull = (value: unknown) => value === null || typeof value === "string";
const isCount = (value: unknown) =>
  typeof value === "number" && Number.isFinite(value) && value >= 0;

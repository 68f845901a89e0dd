// <name>.status.json: what became of a sealed package, beside it, because a package never changes.
import { join } from "node:path";
import { isJsonObject } from "../../core/json.ts";
import { replaceFile, writeAll } from "../../core/storage/files/file-ports.ts";
import { type PackageMark, type PackageStatus, statusBytes } from "../package/package-format.ts";
import { endings } from "./names.ts";
import type { PackagePorts } from "./ports.ts";
import { readWhole } from "./read-package.ts";

export const noStatus: PackageStatus = { uploaded: [], preserved: null, retracted: null };

/**
 * The status of a package; nothing happened to it when there is no file. `undefined` for a file that
 * is not a status: then nobody knows, and nothing may be taken for granted.
 */
export async function readStatus(
  { disk, path }: Pick<PackagePorts, "disk" | "path">,
  name: string,
): Promise<PackageStatus | undefined> {
  const bytes = await readWhole(disk, join(path, name + endings.status));
  if (bytes === undefined) return noStatus;
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    return undefined; // the message would quote it
  }
  return isStatus(value) ? value : undefined;
}

/** Replaces a status whole: after a power cut the old one is there, or the new one. */
export async function writeStatus(
  ports: PackagePorts,
  name: string,
  status: PackageStatus,
): Promise<void> {
  ports.guard();
  const bytes = statusBytes(status);
  await replaceFile(ports, join(ports.path, name + endings.status), (file) =>
    writeAll(file, bytes, 0),
  );
}

function isStatus(value: unknown): value is PackageStatus {
  if (!isJsonObject(value)) return false;
  const { uploaded, preserved, retracted } = value;
  return (
    Array.isArray(uploaded) &&
    uploaded.every(
      (copy) =>
        isJsonObject(copy) &&
        typeof copy["bucket"] === "string" &&
        typeof copy["prefix"] === "string" &&
        typeof copy["timestamp"] === "number",
    ) &&
    (preserved === null || isMark(preserved)) &&
    (retracted === null || isMark(retracted))
  );
}

function isMark(value: unknown): value is PackageMark {
  if (!isJsonObject(value)) return false;
  const { timestamp, by, reason } = value;
  return typeof timestamp === "number" && isText(by) && isText(reason);
}

function isText(value: unknown): boolean {
  return value === null || typeof value === "string";
}

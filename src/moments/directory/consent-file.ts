// <home>/consent.json: what somebody agreed to, until they say something else. Replaced whole.
import { join } from "node:path";
import { isJsonObject } from "../../core/json.ts";
import type { Disk } from "../../core/storage/disk/disk.ts";
import { replaceFile, writeAll } from "../../core/storage/files/file-ports.ts";
import type { Consent } from "../package/record.ts";
import { isNoFile } from "./disk-errors.ts";
import { readWhole } from "./read-package.ts";
import { isThere } from "./remove-tree.ts";

export const consentPath = (home: string): string => join(home, "consent.json");
/** Of the words that were shown, and of who agreed. */
const maxTextLength = 2_000;

/** `undefined`: nobody said anything yet. `"unreadable"`: nobody knows what; then nothing is. */
export async function readConsent(
  disk: Disk,
  home: string,
): Promise<Consent | "unreadable" | undefined> {
  const path = consentPath(home);
  try {
    const bytes = await readWhole(disk, path);
    // Larger than anything of ours is not absent.
    if (bytes === undefined) return (await isThere(disk, path)) ? "unreadable" : undefined;
    const value: unknown = JSON.parse(bytes.toString("utf8"));
    return consentOf(value) ?? "unreadable";
  } catch (error) {
    // Torn, or somebody wrote it by hand, or it is a folder, a link or a pipe.
    if (error instanceof SyntaxError || isNoFile(error)) return "unreadable";
    throw error;
  }
}

/** Survives a power cut when it resolves. */
export async function writeConsent(
  ports: Parameters<typeof replaceFile>[0],
  home: string,
  consent: Consent,
): Promise<void> {
  const bytes = Buffer.from(`${JSON.stringify(consent, undefined, 2)}\n`);
  await replaceFile(ports, consentPath(home), (file) => writeAll(file, bytes, 0));
}

/** Its own members alone: each package holds a copy. @returns `undefined`: it is none. */
function consentOf(value: unknown): Consent | undefined {
  if (!isJsonObject(value)) return undefined;
  const { messages, frames, audio, upload, export: mayExport, wording, by, timestamp } = value;
  if (!isSwitch(messages) || !isSwitch(frames) || !isSwitch(audio)) return undefined;
  if (!isSwitch(upload) || !isSwitch(mayExport)) return undefined;
  if (!isTextOrNull(wording) || !isTextOrNull(by)) return undefined;
  if ((frames || audio) && wording === null) return undefined;
  if (timestamp !== null && typeof timestamp !== "number") return undefined;
  return { messages, frames, audio, upload, export: mayExport, wording, timestamp, by };
}

function isTextOrNull(value: unknown): value is string | null {
  return value === null || (typeof value === "string" && value.length <= maxTextLength);
}

const isSwitch = (value: unknown): value is boolean => typeof value === "boolean";

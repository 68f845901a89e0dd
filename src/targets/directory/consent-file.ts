// <home>/consent.json: what somebody agreed to, until they say something else. Replaced whole.
import { join } from "node:path";
import { isJsonObject } from "../../json.ts";
import type { Disk } from "../../storage/files/disk.ts";
import { replaceFile, writeAll } from "../../storage/files/file-ports.ts";
import type { Consent } from "../package/record.ts";
import { readWhole } from "./read-package.ts";

const fileName = "consent.json";
const switches = ["messages", "frames", "audio", "upload", "export"] as const;

/** `undefined`: nobody said anything yet. `"unreadable"`: nobody knows what; then nothing is. */
export async function readConsent(
  disk: Disk,
  home: string,
): Promise<Consent | "unreadable" | undefined> {
  const bytes = await readWhole(disk, join(home, fileName));
  if (bytes === undefined) return undefined;
  try {
    const value: unknown = JSON.parse(bytes.toString("utf8"));
    return isConsent(value) ? value : "unreadable";
  } catch {
    return "unreadable"; // torn, or somebody wrote it by hand
  }
}

/** Survives a power cut when it resolves. */
export async function writeConsent(
  ports: Parameters<typeof replaceFile>[0],
  home: string,
  consent: Consent,
): Promise<void> {
  const bytes = Buffer.from(`${JSON.stringify(consent, undefined, 2)}\n`);
  await replaceFile(ports, join(home, fileName), (file) => writeAll(file, bytes, 0));
}

function isConsent(value: unknown): value is Consent & typeof value {
  if (!isJsonObject(value)) return false;
  if (!switches.every((name) => typeof value[name] === "boolean")) return false;
  const { wording, by, timestamp } = value;
  const areTexts = [wording, by].every((text) => text === null || typeof text === "string");
  const needsWording = value["frames"] === true || value["audio"] === true;
  if (!areTexts || (needsWording && wording === null)) return false;
  return timestamp === null || typeof timestamp === "number";
}

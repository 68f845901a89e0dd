// Whose a package is: what its record says, wherever there is one. Also of a half in quarantine, and of
// files that version 0.1 left: `intent.json` in a half, and a spill, a whole moment in one file.
import { join } from "node:path";
import { isJsonObject } from "../../core/json.ts";
import { manifestFile, messagesFile } from "./content.ts";
import { isNoFile } from "./disk-errors.ts";
import { endings } from "./names.ts";
import type { PackagePorts } from "./ports.ts";
import { readWhole } from "./read-package.ts";

/** What a record says about whose it is, as far as it can be read at all. */
export interface Whose {
  readonly chat_id: string | null;
  readonly people: readonly string[];
  readonly session_id: string;
  readonly consent: { readonly upload: boolean };
}

/** Where something of one name is: its folder, a half of it, or what quarantine has. */
export type Places = readonly string[];

/**
 * Everything that the records in these places say. Damaged ones are read too, as far as they are JSON: a
 * checksum that is wrong is no reason to keep what somebody wants forgotten.
 */
export async function whoseIs(ports: PackagePorts, places: Places): Promise<readonly Whose[]> {
  const found: Whose[] = [];
  for (const place of places) {
    const records = place.endsWith(endings.spill)
      ? [recordOfSpill(await bytesOf(ports, place))]
      : [
          jsonOf(await bytesOf(ports, join(place, manifestFile))),
          jsonOf(await bytesOf(ports, join(place, "intent.json"))),
        ];
    found.push(...records.flatMap((record) => whoseOf(record) ?? []));
  }
  return found;
}

/** @returns `unreadable`: words are there that cannot be read, and no others hold the message. */
export async function holdsMessage(
  ports: PackagePorts,
  places: Places,
  messageId: string,
): Promise<boolean | "unreadable"> {
  const wanted = `"id": ${JSON.stringify(messageId)}`;
  let isUnreadable = false;
  for (const place of places) {
    const isSpill = place.endsWith(endings.spill);
    const words = await bytesOf(ports, isSpill ? place : join(place, messagesFile));
    if (words?.includes(wanted)) return true;
    if (!isSpill && words !== undefined && !Array.isArray(jsonOf(words))) isUnreadable = true;
  }
  return isUnreadable ? "unreadable" : false;
}

async function bytesOf({ disk }: PackagePorts, path: string): Promise<Buffer | undefined> {
  try {
    return await readWhole(disk, path);
  } catch (error) {
    if (isNoFile(error)) return undefined;
    throw error;
  }
}

/** A spill is "TLSPILL1", a length in 4 bytes, little endian, so many bytes of JSON, and the files. */
function recordOfSpill(bytes: Buffer | undefined): unknown {
  if (bytes === undefined || bytes.length < 12) return undefined;
  return jsonOf(bytes.subarray(12, 12 + bytes.readUInt32LE(8)));
}

function jsonOf(bytes: Buffer | undefined): unknown {
  try {
    return bytes === undefined ? undefined : JSON.parse(bytes.toString("utf8"));
  } catch {
    return undefined; // the message would quote it
  }
}

function whoseOf(value: unknown): Whose | undefined {
  if (!isJsonObject(value)) return undefined;
  const record = isJsonObject(value["record"]) ? value["record"] : value;
  const { chat_id = null, people, session_id, consent } = record;
  if (people === undefined && chat_id === null && session_id === undefined) return undefined;
  return {
    chat_id: typeof chat_id === "string" ? chat_id : null,
    people: Array.isArray(people) ? people.filter((one) => typeof one === "string") : [],
    session_id: typeof session_id === "string" ? session_id : "",
    consent: { upload: isJsonObject(consent) && consent["upload"] === true },
  };
}

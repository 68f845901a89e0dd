// Whose a package is: what its record says, wherever there is one. Also of a half in quarantine, and of
// a package of which a bucket alone has the files.
import { join } from "node:path";
import { isJsonObject } from "../../core/json.ts";
import type { PackageOwners } from "../package/record.ts";
import { manifestFile, messagesFile } from "./content.ts";
import { isNoFile } from "./disk-errors.ts";
import type { PackagePorts } from "./ports.ts";
import { readWhole } from "./read-package.ts";
import { readStatus } from "./status.ts";

/**
 * Which packages: one, those of a chat, those of a chat that hold one message, those in whose window a
 * person was seen, or every one.
 */
export type Selection =
  | { readonly name: string }
  | { readonly chatId: string }
  | { readonly message: { readonly chatId: string; readonly id: string } }
  | { readonly person: string }
  | { readonly all: true };

/** What a record says about whose it is, as far as it can be read at all. */
interface Whose extends Pick<PackageOwners, "chat_id" | "people"> {
  /** Of the reaction, in seconds since 1970. */
  readonly timestamp?: number | undefined;
}

/** Something of a package, the chats that its records name, and when somebody reacted. */
export interface OwnedPackage {
  readonly name: string;
  readonly chatIds: readonly string[];
  /** In milliseconds since 1970. */
  readonly at: number;
}

/**
 * Whether a selection takes in a package whose records say this. Records do not list every message: of a
 * selection by message, whether it can be meant.
 */
export function isMeant(selection: Selection, name: string, whose: readonly Whose[]): boolean {
  if ("all" in selection) return true;
  if ("name" in selection) return selection.name === name;
  if ("chatId" in selection || "message" in selection) {
    const { chatId } = "chatId" in selection ? selection : selection.message;
    return whose.some(({ chat_id }) => chat_id === chatId);
  }
  const person = foldedName(selection.person);
  return whose.some(({ people }) => people.some((one) => foldedName(one) === person));
}

/** Names of people are compared without case, as they are spoken. */
function foldedName(name: string): string {
  return name.normalize("NFC").trim().toLowerCase();
}

/** Where something of one name is: its folder, a half of it, or what quarantine has. */
export type Places = readonly string[];

/**
 * Everything that the records of a package say. Damaged ones are read too, as far as they are JSON: a
 * checksum that is wrong is no reason to keep what somebody wants forgotten.
 */
export async function whoseIs(
  ports: PackagePorts,
  name: string,
  places: Places,
): Promise<readonly Whose[]> {
  const found: Whose[] = [];
  for (const place of places) {
    const whose = whoseOf(jsonOf(await bytesOf(ports, join(place, manifestFile))));
    if (whose !== undefined) found.push(whose);
  }
  return [...found, ...(await noted(ports, name))];
}

/** @returns `unreadable`: words are there that cannot be read, and no others hold the message. */
export async function holdsMessage(
  ports: PackagePorts,
  name: string,
  places: Places,
  messageId: string,
): Promise<boolean | "unreadable"> {
  const wanted = `"id": ${JSON.stringify(messageId)}`;
  let isUnreadable = false;
  for (const place of places) {
    const words = await bytesOf(ports, join(place, messagesFile));
    if (words?.includes(wanted)) return true;
    if (words !== undefined && !Array.isArray(jsonOf(words))) isUnreadable = true;
  }
  const isNoted = (await noted(ports, name)).some(({ messages }) => messages.includes(messageId));
  if (isNoted) return true;
  return isUnreadable ? "unreadable" : false;
}

/** What the status says of a package of which a bucket alone has the files. */
async function noted(ports: PackagePorts, name: string): Promise<readonly PackageOwners[]> {
  const of = (await readStatus(ports, name))?.of;
  return of === undefined ? [] : [of];
}

async function bytesOf({ disk }: PackagePorts, path: string): Promise<Buffer | undefined> {
  try {
    return await readWhole(disk, path);
  } catch (error) {
    if (isNoFile(error)) return undefined;
    throw error;
  }
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
  const { chat_id = null, people, session_id, timestamp } = value;
  if (people === undefined && chat_id === null && session_id === undefined) return undefined;
  return {
    chat_id: typeof chat_id === "string" ? chat_id : null,
    people: Array.isArray(people) ? people.filter((one) => typeof one === "string") : [],
    timestamp: typeof timestamp === "number" ? timestamp : undefined,
  };
}

// Whose a package is: what its record says, wherever there is one. Also of a package of which a bucket alone has
// the files.
import { join } from "node:path";
import { isJsonObject } from "../../core/json.ts";
import { manifestFile, messagesFile } from "../package/content.ts";
import { jsonOf } from "../package/manifest.ts";
import type { PackageOwners, PackageRecord } from "../package/record.ts";
import { type PackagePorts, pathOf, placesIn, readIfFile, timeOf } from "./names.ts";
import { readStatus } from "./notes.ts";

/**
 * Which packages: one, those of a chat, those of a chat that hold one message, those in whose window a
 * person was seen, every one, or only what was never finished, or not wholly deleted.
 */
export type Selection =
  | { readonly name: string }
  | { readonly chatId: string }
  | { readonly message: { readonly chatId: string; readonly id: string } }
  | { readonly person: string }
  | { readonly all: true }
  | { readonly unfinished: true };

/** What is known of whose a package is. */
interface Owners extends Pick<PackageOwners, "chat_id" | "people"> {
  /** Ids of its messages; absent: not known. */
  readonly messages?: readonly string[] | undefined;
  /** Of the reaction, in seconds since 1970. */
  readonly timestamp?: number | undefined;
}

/** Whether a selection takes in a package of which records say this. `undefined`: they do not say. */
export function isMeant(
  selection: Selection,
  name: string,
  owners: readonly Owners[],
): boolean | undefined {
  if ("all" in selection) return true;
  if ("unfinished" in selection) return false;
  if ("name" in selection) return selection.name === name;
  if (owners.length === 0) return undefined;
  if ("person" in selection) {
    return owners.some(({ people }) => isPerson(people, selection.person));
  }
  const { chatId, id } =
    "message" in selection ? selection.message : { ...selection, id: undefined };
  if (!owners.some(({ chat_id }) => chat_id === chatId)) return false;
  if (id === undefined || owners.some(({ messages }) => messages?.includes(id))) return true;
  return owners.some(({ messages }) => messages === undefined) ? undefined : false;
}

/** Whether a person is among these: names are compared without case, as they are spoken. */
export function isPerson(people: readonly string[], name: string): boolean {
  const folded = (one: string) => one.normalize("NFKC").trim().toLowerCase();
  return people.some((one) => folded(one) === folded(name));
}

/**
 * Reads everything that the records of a package say. Damaged ones are read too, as far as they are JSON: a
 * checksum that is wrong is no reason to keep what somebody wants forgotten.
 *
 * @param withMessages reads the words too, for the ids of the messages.
 */
export async function ownersHere(
  ports: PackagePorts,
  name: string,
  withMessages: boolean,
): Promise<readonly Owners[]> {
  const folder = pathOf(ports, name);
  const read = async (file: string) => {
    const bytes = await readIfFile(ports.disk, join(folder, file));
    return bytes === undefined ? [] : jsonOf(bytes, { fatal: false });
  };
  const owners = ownersIn(await read(manifestFile));
  const words = owners && withMessages ? await read(messagesFile) : undefined;
  // After the folder: the status of one that leaves for a bucket says whose it is before the folder goes.
  const noted = (await readStatus(ports, name))?.of;
  const found = noted === undefined ? [] : [noted];
  if (owners === undefined) return found;
  const messages = Array.isArray(words) ? words.map((one) => String(one?.id)) : undefined;
  return [{ ...owners, messages }, ...found];
}

function ownersIn(value: unknown): Owners | undefined {
  if (!isJsonObject(value)) return undefined;
  const { chat_id = null, people, session_id, timestamp } = value;
  if (people === undefined && chat_id === null && session_id === undefined) return undefined;
  return {
    chat_id: typeof chat_id === "string" ? chat_id : null,
    people: Array.isArray(people) ? people.filter((one) => typeof one === "string") : [],
    timestamp: typeof timestamp === "number" ? timestamp : undefined,
  };
}

/** Whose a package is, for a status. */
export function ownersOf(
  record: PackageRecord,
  messages: readonly { readonly id: string }[],
): PackageOwners {
  const { chat_id, people, target, annotator, timestamp, supersedes } = record;
  const isOfPerson = annotator.kind === "human" && annotator.id === null;
  const isNamed = isOfPerson && target?.how === "explicit";
  const judged = isNamed ? { message_ids: target.message_ids, timestamp, supersedes } : undefined;
  return { chat_id, people, messages: messages.map(({ id }) => id), judged };
}

/** Something of a package, the chats that its records name, and when somebody reacted. */
export interface OwnedPackage {
  readonly name: string;
  readonly chatIds: readonly string[];
  /** Whether its records say nothing, as where only a half is left. */
  readonly isUnknown: boolean;
  /** In milliseconds since 1970. */
  readonly at: number;
}

/** All that is here, also what is damaged, or has its files in a bucket alone. */
export async function* ownedPackages(ports: PackagePorts): AsyncGenerator<OwnedPackage> {
  for (const name of await namesHere(ports)) {
    const owners = await ownersHere(ports, name, false);
    const chatIds = owners.flatMap(({ chat_id }) => chat_id ?? []);
    const { timestamp = timeOf(name) / 1_000 } = owners[0] ?? {};
    yield { name, chatIds, isUnknown: owners.length === 0, at: timestamp * 1_000 };
  }
}

/** The names of which there is more here than a tombstone. */
export async function namesHere(ports: PackagePorts): Promise<readonly string[]> {
  const places = [...(await placesIn(ports))];
  return places.filter(([, as]) => as.size > Number(as.has("tombstone"))).map(([name]) => name);
}

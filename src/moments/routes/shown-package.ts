import type { z } from "zod";
import { holdsRemoved } from "../../core/chat/marks.ts";
import { absent, isThroughlineError } from "../../core/errors.ts";
import type { Router } from "../../server/router.ts";
import type { PackageEntry, ReadPackage } from "../directory/read-package.ts";
import type { Moments } from "../moments.ts";
import type { Manifest } from "../package/record.ts";
import type { packageFilter } from "./schemas.ts";

/**
 * Reads a package that may be shown. A package is deleted with a message that it holds. One that was not
 * reached then, such as one that a backup brought back, is not shown.
 *
 * @throws ThroughlineError `THROUGHLINE_NOT_FOUND`: there is none, or a message in it was erased.
 */
export async function readShown(
  { ports }: Router,
  { packages }: Moments,
  name: string,
): Promise<ReadPackage> {
  const read = await packages.read(name);
  const ids = read.messages.map(({ id }) => id);
  const { logs } = ports.throughline.chats;
  if (!(await holdsRemoved(logs, read.manifest.chat_id, ids))) return read;
  throw absent(withheld);
}

const withheld =
  "a message in this package was erased: delete the package, or erase the message again";

const notKnown =
  "the chat of this package cannot be read: whether a message in it was erased is not known";

/** What a list shows of a package; a string: why it shows nothing of what was judged. */
export async function listedManifest(
  { ports }: Router,
  manifest: Manifest,
): Promise<Manifest | typeof withheld | typeof notKnown> {
  const { chat_id: chatId, target, trigger_turn: trigger } = manifest;
  const ids = [...(target?.message_ids ?? []), trigger?.message_id ?? undefined];
  const { logs } = ports.throughline.chats;
  const known = ids.filter((id) => id !== undefined);
  try {
    return (await holdsRemoved(logs, chatId, known)) ? withheld : manifest;
  } catch (error) {
    if (isThroughlineError(error)) return notKnown; // a fault stays with its chat
    throw error;
  }
}

type Filter = Omit<z.infer<ReturnType<typeof packageFilter>>, "limit" | "cursor">;

/**
 * By what the record of the package says; where only a bucket has it by its name and status, which tell nothing of
 * media and words. One without a record that can be read matches nothing.
 */
export function isMatch({ name, state, manifest, status }: PackageEntry, filter: Filter): boolean {
  if (manifest === undefined && state !== "bucket") return false;
  const { what = "", trigger = "", correction, num_frames = 0, audio_samples = 0 } = manifest ?? {};
  const { query, ...wanted } = filter;
  const said: { readonly [Name in keyof Filter]: string | null } = {
    sentiment: name.includes("_positive_") ? "positive" : "negative",
    preserved: String((status?.preserved ?? null) !== null),
    chat_id: (manifest ?? status?.of)?.chat_id ?? null,
    media: manifest === undefined ? null : String(num_frames > 0 || audio_samples > 0),
  };
  const isSame = Object.entries(wanted).every(([field, value]) => {
    return value === undefined || value === said[field as keyof typeof wanted];
  });
  if (query === undefined || !isSame) return isSame;
  const words = [what, trigger, correction?.text ?? ""].join("\n").toLowerCase();
  return manifest !== undefined && words.includes(query.toLowerCase());
}

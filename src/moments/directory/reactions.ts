// Which reaction a message has. It is derived from the packages, so that neither a kill nor two clicks at once
// leave a message with two.
import { packageId, sentimentOf } from "../package/package-name.ts";
import type { PackageOwners, Sentiment } from "../package/record.ts";
import { type PackagePorts, placesIn } from "./names.ts";
import { isInFlight, readStatus } from "./notes.ts";
import { readFolder } from "./read-package.ts";
import { ownersOf } from "./whose.ts";

/** A person's reaction to the answers and tool results of a turn. */
export interface MessageReaction {
  readonly message_ids: readonly string[];
  readonly sentiment: Sentiment;
  /** Of its package. */
  readonly name: string;
}

/** What packages were seen to judge, by their names, so that each is read once; `undefined`: it cannot be read. */
export type SeenOwners = Map<string, PackageOwners | undefined>;

/**
 * The reactions of a chat as they are now: one for a message.
 *
 * @param supersede marks an older one as superseded by the package of this id.
 */
export async function reactionsOf(
  ports: PackagePorts,
  seen: SeenOwners,
  chatId: string,
  supersede: (name: string, by: string) => Promise<unknown>,
): Promise<readonly MessageReaction[]> {
  // Only a tombstone may be left of what is forgotten, until its copy in the bucket is gone.
  const isThere = (as: ReadonlySet<string>) => as.has("package") || as.has("status");
  const places = new Map([...(await placesIn(ports))].filter(([, as]) => isThere(as)));
  for (const name of seen.keys()) if (!places.has(name)) seen.delete(name);
  for (const name of places.keys()) {
    if (seen.has(name)) continue;
    const { manifest } = await readFolder(ports, name);
    seen.set(name, manifest ? ownersOf(manifest, []) : (await readStatus(ports, name))?.of);
  }
  const live: MessageReaction[] = [];
  const newest = new Map<string, string>();
  for (const { name, message_ids } of newestFirst(seen, chatId)) {
    const status = await readStatus(ports, name);
    const isComing = !places.get(name)?.has("package") && status && isInFlight(status);
    if (status === undefined || isComing) continue;
    const newer = message_ids.map((id) => newest.get(id)).find((one) => one !== undefined);
    if (newer !== undefined) {
      if (status.retracted === null) await supersede(name, newer);
      continue;
    }
    for (const messageId of message_ids) newest.set(messageId, packageId(name));
    const sentiment = sentimentOf(name) ?? "negative";
    if (status.retracted === null) live.push({ message_ids, sentiment, name });
  }
  return live;
}

function newestFirst(seen: SeenOwners, chatId: string) {
  const found = [...seen].flatMap(([name, of]) => {
    return of?.chat_id === chatId && of.judged !== undefined ? [{ name, ...of.judged }] : [];
  });
  // Time alone does not tell: a clock may be put back.
  const older = new Set(found.map(({ supersedes }) => supersedes));
  const rank = (name: string) => (older.has(packageId(name)) ? 1 : 0);
  return found.sort((a, b) => {
    return rank(a.name) - rank(b.name) || b.timestamp - a.timestamp || (a.name < b.name ? 1 : -1);
  });
}

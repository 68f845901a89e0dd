import {
  isPackageName,
  type PackageOwners,
  readManifest,
  readMessages,
} from "../package/package-format.ts";
import { manifestFile, messagesFile } from "./object-key.ts";
import type { S3Bucket } from "./s3-bucket.ts";

/** What lies in a bucket under the prefix of one package. */
interface RemoteFolder {
  readonly name: string;
  /** Of each of its keys, with the last slash. */
  readonly prefix: string;
  /** Whether its manifest is there. */
  isSealed: boolean;
  /** When its newest object was stored; not a number: the service does not say. */
  newestMs: number;
}

/**
 * Every package of a bucket, and what there is of those that are not whole: a page of keys at a time,
 * no object read.
 */
export async function* foldersIn(
  bucket: S3Bucket,
  signal: AbortSignal,
): AsyncGenerator<RemoteFolder, void> {
  let folder: RemoteFolder | undefined;
  // By key, so that those of one package follow each other.
  for await (const { key, modifiedMs = Number.NaN } of bucket.list("feedback/", signal)) {
    const [first = "", session = "", name = "", ...path] = key.split("/");
    if (path.length === 0 || !isPackageName(name)) continue;
    const prefix = `${first}/${session}/${name}/`;
    if (prefix !== folder?.prefix) {
      if (folder !== undefined) yield folder;
      folder = { name, prefix, isSealed: false, newestMs: modifiedMs };
    }
    folder.isSealed ||= key === prefix + manifestFile;
    folder.newestMs = Math.max(folder.newestMs, modifiedMs);
  }
  if (folder !== undefined) yield folder;
}

/** Whose a package is. `undefined`: it has no manifest, one that cannot be read, or another's. */
export async function ownersThere(
  bucket: S3Bucket,
  { name, prefix }: Pick<RemoteFolder, "name" | "prefix">,
  signal: AbortSignal,
): Promise<PackageOwners | undefined> {
  const bytes = await bucket.get(prefix + manifestFile, signal);
  const { manifest } = bytes === undefined ? {} : readManifest(bytes);
  if (manifest?.name !== name) return undefined;
  const { chat_id, people } = manifest;
  const words = await bucket.get(prefix + messagesFile, signal);
  const messages = (words && readMessages(words)) ?? [];
  return { chat_id, people, messages: messages.map(({ id }) => id) };
}

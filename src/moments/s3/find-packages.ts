import {
  isPackageName,
  type Manifest,
  readManifest,
  readMessages,
} from "../package/package-format.ts";
import { manifestFile, messagesFile } from "./object-key.ts";
import type { S3Bucket } from "./s3-bucket.ts";
import { type ListedObject, S3Error } from "./s3-port.ts";
import { UploadStop } from "./upload-stop.ts";

/** What lies in a bucket under the prefix of one package. */
interface RemoteFolder {
  readonly name: string;
  /** Of each of its keys, with the last slash. */
  readonly prefix: string;
  /** Whether its manifest is there. */
  readonly isSealed: boolean;
  /** When its newest object was stored; `undefined`: the service does not say. */
  readonly newestMs: number | undefined;
}

const everything = "feedback/";
/** Longer than an upload rests between two of its objects while its bucket answers. */
const abandonedAfterMs = 24 * 3_600_000;

/**
 * Whether what lies there is of an upload that ended before its manifest: nothing was added for a
 * day. One that goes on later all the same looks at what is there, and sends it again.
 */
export function isAbandoned({ isSealed, newestMs }: RemoteFolder, nowMs: number): boolean {
  return !isSealed && newestMs !== undefined && nowMs - newestMs > abandonedAfterMs;
}

/**
 * Every package of a bucket, and what there is of those that are not whole: a page of keys at a time,
 * no object read.
 *
 * @throws UploadStop `unlistable`: there is no right to list.
 */
export async function* foldersIn(
  bucket: S3Bucket,
  signal: AbortSignal,
): AsyncGenerator<RemoteFolder, void> {
  let folder: RemoteFolder | undefined;
  // By key, so that those of one package follow each other.
  for await (const object of objectsIn(bucket, signal)) {
    const place = placeOf(object.key);
    if (place?.prefix !== folder?.prefix) {
      if (folder !== undefined) yield folder;
      folder = place && { ...place, isSealed: false, newestMs: object.modifiedMs };
    }
    if (folder === undefined) continue;
    const isSealed = folder.isSealed || object.key === folder.prefix + manifestFile;
    folder = { ...folder, isSealed, newestMs: later(folder.newestMs, object.modifiedMs) };
  }
  if (folder !== undefined) yield folder;
}

/** `undefined`: there is none, it cannot be read, or somebody else put it there. */
export async function readRemote(
  bucket: S3Bucket,
  { name, prefix }: Pick<RemoteFolder, "name" | "prefix">,
  signal: AbortSignal,
): Promise<Manifest | undefined> {
  const bytes = await bucket.get(prefix + manifestFile, signal);
  const { manifest } = bytes === undefined ? {} : readManifest(bytes);
  return manifest?.name === name ? manifest : undefined;
}

/** The messages that a package holds. None where they cannot be read. */
export async function remoteMessageIds(
  bucket: S3Bucket,
  { prefix }: Pick<RemoteFolder, "prefix">,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const bytes = await bucket.get(prefix + messagesFile, signal);
  const messages = bytes === undefined ? undefined : readMessages(bytes);
  return messages?.map(({ id }) => id) ?? [];
}

async function* objectsIn(
  bucket: S3Bucket,
  signal: AbortSignal,
): AsyncGenerator<ListedObject, void> {
  let after: string | undefined;
  do {
    const page = await bucket.page(everything, after, signal).catch((cause: unknown) => {
      const isRefused = cause instanceof S3Error && cause.code === "AccessDenied";
      throw isRefused ? new UploadStop("unlistable", { cause }) : cause;
    });
    yield* page.objects;
    after = page.next;
  } while (after !== undefined);
}

/** `feedback/<session>/<name>/…` */
function placeOf(key: string): Pick<RemoteFolder, "name" | "prefix"> | undefined {
  const [first = "", session = "", name = "", ...path] = key.split("/");
  if (path.length === 0 || !isPackageName(name)) return undefined;
  return { name, prefix: `${first}/${session}/${name}/` };
}

function later(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined || other === undefined ? undefined : Math.max(one, other);
}

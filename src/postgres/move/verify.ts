import { createHash } from "node:crypto";
import { ThroughlineError } from "../../core/errors.ts";
import type { Storage } from "../../core/storage/storage.ts";
import { compareDocuments } from "./documents.ts";
import { everyLog, type FoundLog } from "./every-log.ts";
import { compareFiles } from "./files.ts";
import { missingMarks, type NewMarks } from "./forgotten-marks.ts";
import { inOrder, logsAtOnce } from "./in-order.ts";
import { chatsPlace, logPlaces } from "./places.ts";
import { digestOf, type LogName, type OnDamage, placeName } from "./records.ts";

/** What was read from end to end in both storages, and found equal. */
export interface Verified {
  readonly logs: number;
  readonly records: number;
  readonly documents: number;
  /** Attachments of chats. */
  readonly files: number;
  /** Of everything, in the order of the lists: the same for the same companion in any storage. */
  readonly sha256: string;
  /** Chats that were left out, because they are forgotten at the target. */
  readonly left_out: number;
}

/**
 * Reads everything in both storages and compares counts, digests, heads, documents and files.
 *
 * @throws ThroughlineError `THROUGHLINE_CONFLICT`: a log, a document or a file is not the same.
 */
export async function verify(
  { from, to }: { readonly from: Storage; readonly to: Storage },
  options: {
    readonly marks: NewMarks;
    readonly damaged: OnDamage;
    readonly signal?: AbortSignal | undefined;
    onLog(found: FoundLog): void;
  },
): Promise<Verified> {
  const { marks, damaged, signal, onLog } = options;
  const all = createHash("sha256");
  let logs = 0;
  let records = 0;
  let leftOut = 0;
  const verifyOne = async (found: FoundLog) => {
    signal?.throwIfAborted();
    onLog(found);
    const name = { collection: found.place.collection, key: found.row.key };
    const isLeftOut = found.place === chatsPlace && marks.isForgottenAtTarget(name.key);
    return isLeftOut ? undefined : { name, digest: await digestOfBoth(found, to, name, damaged) };
  };
  for await (const found of inOrder(everyLog(from, logPlaces), logsAtOnce, verifyOne)) {
    if (found === undefined) {
      leftOut++;
      continue;
    }
    const { name, digest } = found;
    all.update(`${JSON.stringify([name.collection, name.key, digest.sha256])}\n`);
    records += digest.records;
    logs++;
  }
  for await (const _ of missingMarks(from, to)) throw isOther("the log of forgotten chats");
  const documents = await compareDocuments(from, to, signal);
  const [other] = documents.other;
  if (other !== undefined) throw isOther(other);
  all.update(documents.sha256);
  const files = await compareFiles({ from, to }, { marks, damaged, signal });
  const [otherFiles] = files.other;
  if (otherFiles !== undefined) throw isOther(otherFiles);
  for (const name of files.same) all.update(`${name}\n`);
  const counts = {
    logs,
    records,
    documents: documents.same,
    files: files.same.length,
    left_out: leftOut,
  };
  return { ...counts, sha256: all.digest("hex") };
}

async function digestOfBoth(
  { place, logs }: FoundLog,
  to: Storage,
  name: LogName,
  damaged: OnDamage,
) {
  const target = to.logs(place.collection, place.projection);
  // The ends first: what is appended from now on is another's, and is not hidden by being read.
  const [given, own] = [await logs.tail(name.key, 0), await target.tail(name.key, 0)];
  if (given === undefined || own === undefined || given.seq !== own.seq) {
    throw isOther(placeName(name));
  }
  const [digest, ownDigest] = await Promise.all([
    digestOf(logs, name, given, damaged),
    digestOf(target, name, own, "refuse"),
  ]);
  if (digest.sha256 !== ownDigest.sha256) throw isOther(placeName(name));
  return digest;
}

function isOther(name: string): ThroughlineError {
  return new ThroughlineError(
    `${name} is not the same in both: something was written during the move; run it again`,
    { code: "THROUGHLINE_CONFLICT" },
  );
}

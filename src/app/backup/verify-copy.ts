import { setTimeout as wait } from "node:timers/promises";
import { packageOf, sha256Of } from "../../cli/doctor/home-files.ts";
import { deletionMs, type IndexedLogs, Inventory, readIndex } from "../../cli/doctor/inventory.ts";
import { Failed } from "../../cli/failure.ts";
import { concurrently } from "../../core/concurrently.ts";
import type { BackupFile, BackupTotals } from "./backup-file.ts";
import { filesAtOnce, type HomeCopy } from "./home-copy.ts";
import type { NewFolder } from "./new-folder.ts";

interface VerifyPorts {
  readonly home: string;
  readonly folder: NewFolder;
  readonly signal: AbortSignal;
  /** What the index said of the logs before the copy was completed. */
  readonly index: IndexedLogs;
  readonly progress: (done: number, all: number) => void;
}

/** What reading a copy back found. */
interface VerifiedCopy {
  readonly files: readonly BackupFile[];
  readonly totals: BackupTotals;
  readonly found: Inventory["found"];
}

/**
 * Reads every file of a copy back, and makes it durable. Damage that the home has is reported.
 *
 * @throws ThroughlineError `THROUGHLINE_UNAVAILABLE`: a file is not what was read in the home.
 */
export async function verifyCopy(copy: HomeCopy, ports: VerifyPorts): Promise<VerifiedCopy> {
  const files: BackupFile[] = [];
  const packages = new Set<string>();
  const { index, signal, home } = ports;
  const has = (path: string) => copy.files.has(path) || copy.unread.has(path);
  const inventory = new Inventory({ index, signal, has });
  let sum = 0;
  await concurrently([...copy.files], filesAtOnce, async ([path, { bytes, hash }]) => {
    ports.signal.throwIfAborted();
    const file = await ports.folder.open(path);
    try {
      const sha256 = await sha256Of(file, await file.size(), signal);
      if ((await file.size()) !== bytes) throw differs(path);
      if (hash.digest("hex") !== sha256) throw differs(path);
      await inventory.add(path, file, bytes);
      await file.sync();
      files.push({ path, bytes, sha256 });
      sum += bytes;
    } finally {
      await file.close();
    }
    packages.add(packageOf(path) ?? "");
    ports.progress(files.length, copy.files.size);
  });
  packages.delete("");
  await inventory.finish();
  const { logs, records, documents } = inventory.count;
  // What was forgotten or erased since the index was read is not missing.
  if (inventory.found.length > 0) await wait(deletionMs);
  const now = readIndex(home);
  const isOld = (path: string) => (now.get(path)?.end ?? 0) < (index.get(path)?.end ?? 0);
  const found = inventory.found.filter(({ file = "" }) => !isOld(file));
  const totals = { files: files.length, bytes: sum, packages: packages.size };
  return { files: files.sort(byPath), totals: { ...totals, logs, records, documents }, found };
}

export const byPath = (a: { readonly path: string }, b: { readonly path: string }) =>
  a.path < b.path ? -1 : 1;

function differs(path: string): Failed {
  return new Failed(`the copy of ${path} is not what was read in the home. No backup was made`, {
    code: "THROUGHLINE_UNAVAILABLE",
    wayOut: "Try again. If it happens again, check the disk that the backup goes to.",
  });
}

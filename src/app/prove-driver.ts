import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Exit, exitCodes } from "../cli/failure.ts";
import { json } from "../cli/format.ts";
import { type Io, write } from "../cli/io.ts";
import { openFileStorage } from "../core/storage/files/open-file-storage.ts";
import type { Storage } from "../core/storage/storage.ts";
import { type ClauseResult, type Contract, runContract } from "../testing/contract.ts";
import { documentStoreContract } from "../testing/document-store-contract.ts";
import { fileStoreContract } from "../testing/file-store-contract.ts";
import { leaseContract } from "../testing/lease-contract.ts";
import { logStoreContract } from "../testing/log-store-contract.ts";

/**
 * Runs the storage contract on the file driver, in homes that are made for it under the temporary
 * directory and removed after it, and prints each clause as it is proved.
 *
 * @throws Exit with 1: a promise is not kept. With 130: interrupted.
 */
export async function proveDriver(
  io: Io,
  asJson: boolean,
  contracts: readonly Contract[] = [
    logStoreContract,
    documentStoreContract,
    fileStoreContract,
    leaseContract,
  ],
): Promise<void> {
  const parent = await mkdtemp(join(tmpdir(), "throughline-doctor-"));
  const results: (ClauseResult & { readonly contract: string })[] = [];
  let isStopped = false;
  const ignoreSignals = io.onSignal(() => {
    if (isStopped) io.exitNow(exitCodes.interrupted);
    isStopped = true;
  });
  try {
    for (const contract of contracts) {
      for await (const result of prove(contract, parent)) {
        results.push({ contract: contract.name, ...result });
        if (!asJson) await write(io.output, line(result));
        if (isStopped) throw new Exit(exitCodes.interrupted);
      }
    }
    await write(io.output, asJson ? json({ clauses: results.map(toJson) }) : summary(results));
  } finally {
    ignoreSignals();
    await rm(parent, { recursive: true, force: true });
  }
  if (results.some(({ ok }) => !ok)) throw new Exit(exitCodes.failed);
}

function prove(contract: Contract, parent: string): AsyncIterable<ClauseResult> {
  const homes = new Map<Storage, string>();
  const openAt = async (home: string) => {
    const storage = await openFileStorage({ home });
    homes.set(storage, home);
    return storage;
  };
  return runContract(contract, async () => openAt(await mkdtemp(join(parent, "home-"))), {
    async reopen(storage) {
      const home = homes.get(storage);
      if (home === undefined) throw new TypeError("this storage was not opened here");
      await storage.close();
      return openAt(home);
    },
  });
}

function line({ id, says, ok, skipped, error }: ClauseResult): string {
  const status = skipped !== undefined ? "skipped" : ok ? "ok" : "BROKEN";
  const why = skipped ?? (ok ? undefined : nameOf(error));
  return `${status.padEnd(8)} ${id}: ${says}${why === undefined ? "" : ` (${why})`}\n`;
}

function toJson({ error, ...result }: ClauseResult & { readonly contract: string }) {
  return error === undefined ? result : { ...result, error: nameOf(error) };
}

/** Fixtures contain no chats, so the message may be shown. */
function nameOf(error: unknown): string {
  return error instanceof Error ? (error.message.split("\n", 1)[0] ?? error.name) : String(error);
}

function summary(results: readonly ClauseResult[]): string {
  const broken = results.filter(({ ok }) => !ok).length;
  const kept = `${results.length - broken} of ${results.length} promises hold`;
  return `\n${kept} on this disk (${tmpdir()}).\n`;
}

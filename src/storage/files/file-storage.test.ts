import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { documentStoreContract, logStoreContract, testContract } from "../../testing/testing.ts";
import type { Storage } from "../storage.ts";
import { openFileStorage } from "./open-file-storage.ts";

const parent = mkdtempSync(join(tmpdir(), "throughline-contract-"));
const homes = new WeakMap<Storage, string>();
let count = 0;

async function openAt(home: string): Promise<Storage> {
  const storage = await openFileStorage({ home });
  homes.set(storage, home);
  return storage;
}

for (const contract of [logStoreContract, documentStoreContract]) {
  testContract(contract, {
    test,
    open: () => openAt(join(parent, `home-${++count}`)),
    async reopen(storage) {
      await storage.close();
      return openAt(homes.get(storage) ?? "");
    },
  });
}

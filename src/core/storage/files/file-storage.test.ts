import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { everyContract } from "../../../../test/support/contracts/every.ts";
import { quickDisk } from "../../../../test/support/indexed-home.ts";
import { testContract } from "../../../testing/testing.ts";
import type { Storage } from "../storage.ts";
import { openFileStorage } from "./open-file-storage.ts";

const parent = mkdtempSync(join(quickDisk, "throughline-contract-"));
after(() => rmSync(parent, { recursive: true, force: true }));
const homes = new WeakMap<Storage, string>();
let count = 0;

async function openAt(home: string): Promise<Storage> {
  const storage = await openFileStorage({ home });
  homes.set(storage, home);
  return storage;
}

/** Every clause in `npm run verify`; otherwise one of four. In memory every one runs always. */
const step = process.env["THROUGHLINE_FULL"] === "1" ? 1 : 4;

// Each clause has a home of its own, and waits for the disk most of the time.
for (const { name, clauses } of everyContract) {
  const sample = clauses.filter((_clause, index) => index % step === 0);
  describe(`${name} on files`, { concurrency: 4 }, () => {
    const contract = { name, clauses: sample };
    testContract(contract, {
      test,
      open: () => openAt(join(parent, `home-${++count}`)),
      async reopen(storage) {
        await storage.close();
        return openAt(homes.get(storage) ?? "");
      },
    });
  });
}

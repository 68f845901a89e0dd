import { test } from "node:test";
import { testContract } from "../../../testing/contract.ts";
import { fileStoreContract } from "../../../testing/file-store-contract.ts";
import { openMemoryStorage } from "./memory-storage.ts";

const reopening = fileStoreContract.clauses.filter((clause) => clause.reopens);

testContract(fileStoreContract, {
  test,
  open: async () => openMemoryStorage(),
  except: Object.fromEntries(
    reopening.map(({ id }) => [id, "nothing in memory survives a close, by design"]),
  ),
});

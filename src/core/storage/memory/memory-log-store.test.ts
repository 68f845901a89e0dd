import { test } from "node:test";
import { testContract } from "../../../testing/contract.ts";
import { logStoreContract } from "../../../testing/log-store-contract.ts";
import { openMemoryStorage } from "./memory-storage.ts";

const reopening = logStoreContract.clauses.filter((clause) => clause.reopens);

testContract(logStoreContract, {
  test,
  open: async () => openMemoryStorage(),
  except: Object.fromEntries(
    reopening.map(({ id }) => [id, "nothing in memory survives a close, by design"]),
  ),
});

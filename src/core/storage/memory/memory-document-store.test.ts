import { test } from "node:test";
import { testContract } from "../../../testing/contract.ts";
import { documentStoreContract } from "../../../testing/document-store-contract.ts";
import { openMemoryStorage } from "./memory-storage.ts";

const reopening = documentStoreContract.clauses.filter((clause) => clause.reopens);

testContract(documentStoreContract, {
  test,
  open: async () => openMemoryStorage(),
  except: Object.fromEntries(
    reopening.map(({ id }) => [id, "nothing in memory survives a close, by design"]),
  ),
});

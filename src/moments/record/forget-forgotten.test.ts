import assert from "node:assert/strict";
import { test } from "node:test";
import { openThroughline } from "../../core/throughline.ts";
import { forgetPackagesOf } from "./forget-forgotten.ts";

test("where a disk refuses to delete a package of a forgotten chat, the others go, and it is asked again", async () => {
  await using throughline = await openThroughline({ storage: "memory" });
  const asked: string[] = [];
  const kept = {
    packages: {
      async *owned() {
        for (const name of ["one", "two", "three"]) {
          yield { name, chatIds: name === "three" ? ["kept"] : ["gone"], at: 1 };
        }
      },
    },
    forget: async (selection: object) => {
      const name = "name" in selection ? String(selection.name) : "";
      asked.push(name);
      return { failed: name === "one" ? [{ name }] : [] };
    },
  };
  const at = (chatId: string) => (chatId === "gone" ? 2 : undefined);
  const forgotten = { at, isEmpty: false, end: 1 };
  await assert.rejects(forgetPackagesOf(kept, throughline.chats, forgotten), {
    code: "THROUGHLINE_UNAVAILABLE",
  });
  assert.deepEqual(asked, ["one", "two"]);
});

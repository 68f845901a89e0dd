import assert from "node:assert/strict";
import { test } from "node:test";
import { faultyDisk } from "../../../test/support/faulty-disk.ts";
import { momentOf, openPackages } from "../../../test/support/package-workload.ts";
import { SimulatedDisk } from "../../../test/support/simulated-disk.ts";
import { openThroughline } from "../../core/throughline.ts";
import type { Selection } from "../directory/whose.ts";
import { forgetPackagesOf } from "./forget-forgotten.ts";

test("where a disk refuses to delete a package of a forgotten chat, the others go, and it is asked again", async () => {
  await using throughline = await openThroughline({ storage: "memory" });
  const moments = [1, 2, 3].map((number) => momentOf(number, { frames: 0, samples: 0 }));
  const [first = "", kept = ""] = moments.map(({ record }) => record.name);
  const fault = { fault: "EIO", at: 1, call: "unlink", path: new RegExp(first) } as const;
  const { packages } = await openPackages(faultyDisk(new SimulatedDisk(), fault));
  for (const moment of moments) await packages.save(moment);
  const forget = (selection: Selection) => packages.delete(selection);
  const at = (chatId: string) => (chatId === "chat:1" ? Date.now() : undefined);
  const again = () =>
    forgetPackagesOf({ packages, forget }, throughline.chats, {
      at,
      begun: new Map(),
      isEmpty: false,
      end: 1,
    });
  await assert.rejects(again(), { code: "THROUGHLINE_UNAVAILABLE" });
  const left = async () => (await packages.list()).packages.map(({ name }) => name);
  assert.deepEqual(await left(), [kept], "what is deleted in part is no package any more");
  await again();
  assert.deepEqual(await packages.delete({ chatId: "chat:1" }).then(({ deleted }) => deleted), []);
});

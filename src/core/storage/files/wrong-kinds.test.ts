// Links, folders and pipes where a home has files and folders of its own: each is refused by its name,
// none is followed, and none keeps anything waiting.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { homeFolder } from "../../../../test/support/indexed-home.ts";
import { projection } from "../../../../test/support/storage-workload.ts";
import { openFileStorage } from "./open-file-storage.ts";

const noWindows = { skip: process.platform === "win32", timeout: 20_000 };

const kinds: Readonly<Record<string, (path: string) => void>> = {
  "a link": (path) => {
    fs.writeFileSync(`${path}.target`, "somebody's\n");
    fs.symlinkSync(`${path}.target`, path);
  },
  "a folder": (path) => fs.mkdirSync(path),
  "a pipe": (path) => void execFileSync("mkfifo", [path]),
};

for (const [kind, plant] of Object.entries(kinds)) {
  test(
    `${kind} in the place of a chat or a document is refused by its name, and the others are served`,
    noWindows,
    async (t) => {
      const home = homeFolder(t);
      for (const folder of ["chats", "session"]) fs.mkdirSync(join(home, folder));
      plant(join(home, "chats", "a.jsonl"));
      plant(join(home, "session", "state.json"));
      plant(join(home, "runs.jsonl"));
      await using storage = await openFileStorage({ home });
      const logs = storage.logs("chats", projection);
      const documents = storage.documents("session");
      const refused = (name: string) => ({
        code: "THROUGHLINE_UNAVAILABLE",
        message: new RegExp(`${name} is ${kind}.*, not a file: move it away`),
      });
      await assert.rejects(logs.append("a", [{ id: "m1" }]), refused("a\\.jsonl"));
      await assert.rejects(logs.tail("a", 1), refused("a\\.jsonl"));
      await assert.rejects(documents.read("state"), refused("state\\.json"));
      await assert.rejects(documents.write("state", {}), refused("state\\.json"));
      const runs = storage.logs("", projection);
      await assert.rejects(runs.append("runs", [{ id: "r1" }]), refused("runs\\.jsonl"));
      assert.equal(await logs.append("b", [{ id: "m1" }]), 1);
      assert.equal(await documents.write("other", {}), 1);
    },
  );

  for (const folder of ["chats", "session", "quarantine", "feedback"]) {
    if (kind === "a folder") continue;
    test(
      `${kind} in the place of the folder ${folder} is refused by its name`,
      noWindows,
      async (t) => {
        const home = homeFolder(t);
        plant(join(home, folder));
        const refused = {
          code: "THROUGHLINE_CONFIGURATION",
          message: new RegExp(`/${folder} is not a folder but a link, a file, a pipe or the like`),
        };
        await assert.rejects(async () => {
          await using storage = await openFileStorage({ home });
          storage.logs("chats", projection);
          storage.documents("session");
        }, refused);
      },
    );
  }
}

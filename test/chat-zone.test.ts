// A chat may tell the zone of its person: then times are shown in it, whatever is configured.
import assert from "node:assert/strict";
import fs from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { openThroughline } from "../src/core/throughline.ts";
import { copiesOf, fakeIo, keyboard, runCli } from "./support/command-line.ts";

/** A home whose chats are of two people, who said something at the same time. */
const homeOfTwo = copiesOf(async (home) => {
  await using throughline = await openThroughline({ home });
  const said = { role: "user", content: "Hello", timestamp: "2026-01-02T13:30:00Z" } as const;
  for (const id of ["auckland", "here"]) await throughline.chats.append(id, [said]);
  await throughline.chats.change("auckland", (transaction) => {
    transaction.control("metadata", {});
    transaction.set({ created_at: said.timestamp });
  });
  fs.writeFileSync(join(home, "throughline.config.json"), '{"user_timezone": "UTC"}');
  await throughline.chats.setMetadata("auckland", { user_timezone: "Pacific/Auckland" });
});

test("sessions show, and exports as Markdown and HTML, tell times in the chat's own zone, then in the configured one", async (t) => {
  const home = await homeOfTwo(t);
  for (const line of ["show ID", "export ID --format markdown", "export ID --format html"]) {
    for (const [id, told] of [
      ["auckland", /3 January 2026[\s\S]*02:30/],
      ["here", /2 January 2026[\s\S]*13:30/],
    ] as const) {
      const args = ["sessions", ...line.replace("ID", id).split(" ")];
      assert.match((await runCli(args, { home })).out, told, line);
    }
  }
});

test("sessions forget asks with the time that the chat's person knows", async (t) => {
  const home = await homeOfTwo(t);
  const { input, type } = keyboard();
  const io = fakeIo(input, true);
  const ended = runCli(["sessions", "forget", "auckland"], { home, io });
  await io.errors.has("[y/N]");
  type("n");
  assert.match((await ended).err, /1 message since 2026-01-03 02:30\?/);
});

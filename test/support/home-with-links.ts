import fs from "node:fs";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { openThroughline } from "../../src/core/throughline.ts";
import { temporaryDirectory } from "./command-line.ts";

/** A home with a chat, a link to it from elsewhere, and its chats also on another disk. */
export async function homeWithLinks(t: TestContext) {
  const folder = temporaryDirectory(t);
  const home = join(folder, "home");
  await using throughline = await openThroughline({ home });
  await throughline.chats.append("work", [{ role: "user", content: "hello" }]);
  fs.mkdirSync(join(folder, "disk", "moved"), { recursive: true });
  fs.symlinkSync(join(folder, "disk", "moved"), join(home, "moved"));
  fs.symlinkSync(home, join(folder, "link"));
  fs.symlinkSync(join(home, "chats"), join(folder, "chats"));
  fs.mkdirSync(join(home, "chats", "deep"));
  fs.symlinkSync(join(home, "chats", "deep"), join(folder, "deep"));
  return { folder, home };
}

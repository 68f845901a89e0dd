// What other programs read of a chat that is in use: the files of a real server, read all the time while it
// answers, after it was killed, and after the next one answered more.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { setImmediate as nextPass, setTimeout as wait } from "node:timers/promises";
import { ChatFiles } from "./support/chat-files.ts";
import { inKeptDirectory, ServerProcess, say } from "./support/kill-harness.ts";

const long = "🌍 a long message ".repeat(600);

/** Other readers of JSON lines, where they are installed. Each prints how many lines it read. */
const readers = [
  ["jq", ["-s", "length"]],
  ["python3", ["-c", "import json,sys; print(len([json.loads(line) for line in sys.stdin]))"]],
] as const;

/** Reads each file with every reader that is there. @returns how many could be asked. */
function readByOthers(folder: string): number {
  let asked = 0;
  for (const name of fs.readdirSync(folder)) {
    const bytes = fs.readFileSync(join(folder, name));
    const input = bytes.subarray(0, bytes.lastIndexOf("\n") + 1);
    const lines = input.toString().split("\n").length - 1;
    for (const [program, args] of readers) {
      const { status, stdout, stderr, error } = spawnSync(program, args, { input });
      if (error !== undefined) continue;
      asked++;
      assert.equal(status, 0, `${program} of ${name}: ${stderr}`);
      assert.equal(Number(stdout), lines, `${program} of ${name}`);
    }
  }
  return asked;
}

test("a chat's file holds whole lines of JSON that never change, while turns run, after kill -9 and after the next turn", async (t) => {
  await inKeptDirectory("chat files", async (directory) => {
    const home = join(directory, "home");
    const files = new ChatFiles(join(home, "chats"));
    let looks = 0;
    let halves = 0;
    let asked = 0;
    for (let nth = 0; nth < 2; nth++) {
      const server = new ServerProcess(home);
      t.after(() => server.child.kill("SIGKILL"));
      const url = await server.url();
      let left = nth === 0 ? 9 : 4;
      const talk = async (client: number) => {
        while (left-- > 0) {
          const content = left % 3 === 0 ? `${left} ${long}` : `message ${left}`;
          const answer = await say(url, `files:${client}`, `${nth}-${client}-${left}`, content);
          assert.ok(answer !== undefined || left <= 0, "the server answers");
        }
      };
      let isOver = false;
      const talking = Promise.all([1, 2, 3].map(talk)).then(() => {
        isOver = true;
      });
      while (!isOver) {
        halves += files.look().halves;
        looks++;
        await wait(1);
      }
      await talking;
      // Killed while it stores one more.
      const last = say(url, "files:1", `${nth}-last`, long);
      await nextPass();
      await server.kill();
      await last;
      halves += files.look().halves;
      asked += readByOthers(join(home, "chats"));
    }
    t.diagnostic(
      `${looks} looks, ${halves} in the middle of a write; other readers: ${asked} files`,
    );
    assert.ok(looks > 20, `${looks}`);
  });
});

// What other programs read of a chat that is in use: the files of a real server, read all the time while it
// answers, after it was killed, and after the next one answered more.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { setImmediate as nextPass, setTimeout as wait } from "node:timers/promises";
import { openThroughline } from "../src/core/throughline.ts";
import { ChatFiles } from "./support/chat-files.ts";
import { Process } from "./support/command-line.ts";
import { inKeptDirectory, say } from "./support/kill-harness.ts";
import { killed } from "./support/killed.ts";
import { randomText } from "./support/random-text.ts";

const isFull = process.env["THROUGHLINE_FULL"] === "1";
/** Between two looks, in milliseconds. */
const pauseMs = isFull ? 1 : 10;
const long = "🌍 a long message ".repeat(600);

/** As the Python program reads whose format this is: the first line is metadata, what is not metadata a message. */
const loader = `
import json, sys
lines = [json.loads(line) for line in sys.stdin]
assert not lines or lines[0]["_type"] == "metadata"
for line in lines:
    assert line.get("_type") or (line["role"] and line["content"] is not None)
print(len(lines))
`;

/** Other readers of JSON lines, where they are installed. Each prints how many lines it read. */
const readers = [
  ["jq", ["-s", "length"]],
  ["python3", ["-c", loader]],
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
      const server = new Process(t, ["serve", "--port", "0"], { home });
      const url = await server.url();
      let left = isFull ? 9 : 4;
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
        await wait(pauseMs);
      }
      await talking;
      // Killed while it stores one more.
      const last = say(url, "files:1", `${nth}-last`, long);
      await nextPass();
      await server.kill();
      await last;
      halves += files.look().halves;
      if (isFull || nth === 1) asked += readByOthers(join(home, "chats"));
    }
    t.diagnostic(
      `${looks} looks, ${halves} in the middle of a write; other readers: ${asked} files`,
    );
    assert.ok(looks > (isFull ? 20 : 2), `${looks}`);
  });
});

for (const durability of ["power-cut", "process"] as const) {
  // What a kill leaves does not depend on a sync.
  const skip = durability === "power-cut" && !isFull && "THROUGHLINE_FULL=1 runs it";
  test(`a process that appends to one chat several times at once leaves whole lines wherever it is killed, level ${durability}`, {
    skip,
  }, async (t) => {
    await inKeptDirectory("bursts", async (directory) => {
      const home = join(directory, "home");
      const files = new ChatFiles(join(home, "chats"));
      const stored: string[] = [];
      let looks = 0;
      for (const name of ["first", "second"]) {
        let isOver = false;
        const once = new RegExp(`${name}-${isFull ? 60 : 20}-`);
        const killing = killed("appends", [home, durability, name], { once }).finally(() => {
          isOver = true;
        });
        while (!isOver) {
          files.look();
          looks++;
          await wait(pauseMs);
        }
        stored.push(...(await killing).filter((line) => line.startsWith(name)));
        files.look();
        if (isFull) readByOthers(join(home, "chats"));
        const throughline = await openThroughline({ home, durability });
        const records = await Array.fromAsync(throughline.chats.records("bursts"));
        const ids = records.map(({ id }) => id);
        await throughline.close();
        assert.equal(new Set(ids).size, ids.length, "none is there twice");
        for (const id of stored) assert.ok(ids.includes(id), id);
        files.look();
      }
      t.diagnostic(`${looks} looks, ${stored.length} messages stored`);
      assert.ok(looks > (isFull ? 20 : 2), `${looks}`);
    });
  });

  test(`the lines of an append are in the chat's file when its promise resolves, those of many at most a pass later, level ${durability}`, async () => {
    await inKeptDirectory("lines", async (directory) => {
      const throughline = await openThroughline({ home: join(directory, "home"), durability });
      const folder = join(directory, "home/chats");
      const inFile = (name: string) =>
        fs.readFileSync(join(folder, name), "utf8").split("\n").slice(0, -1);
      const append = (content: string) =>
        throughline.chats.append("local:me", [{ role: "user", content }]);
      for (let nth = 0; nth < 9; nth++) {
        const content = randomText(8 + 500 * (nth % 9));
        await append(content);
        const [name = ""] = fs.readdirSync(folder);
        assert.ok(
          inFile(name).some((line) => line.includes(content)),
          `append ${nth}`,
        );
        const many = Array.from({ length: 8 }, () => randomText(64));
        await Promise.all(many.map(append));
        await nextPass();
        await nextPass();
        const lines = inFile(name);
        for (const line of lines) assert.equal(typeof JSON.parse(line), "object");
        for (const one of many)
          assert.ok(
            lines.some((line) => line.includes(one)),
            `burst ${nth}`,
          );
      }
      await throughline.close();
    });
  });
}

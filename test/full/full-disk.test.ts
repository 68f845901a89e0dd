// A file system of 6 MB that is really full: what a person wants gone goes all the same, and a home that was killed opens.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { openThroughline, type Throughline } from "../../src/core/throughline.ts";
import { randomText } from "../support/random-text.ts";

const place = fs.mkdtempSync(join(tmpdir(), "throughline-full-"));
const mounted = spawnSync("mount", ["-t", "tmpfs", "-o", "size=6m", "tmpfs", place]).status === 0;
after(() => {
  if (mounted) spawnSync("umount", [place]);
  fs.rmdirSync(place);
});
const skip = mounted ? false : "this user may not mount a file system";

let fillings = 0;
function makeRoom(): void {
  for (; fillings > 0; fillings--) fs.rmSync(join(place, `fill-${fillings}`));
}
function fill(): void {
  assert.throws(() => fs.writeFileSync(join(place, `fill-${++fillings}`), Buffer.alloc(8e6)), {
    code: "ENOSPC",
  });
}

test("on a full disk a message is erased in the space of the journal, and a chat is forgotten", {
  skip,
}, async (t) => {
  const home = join(place, "home");
  await using throughline = await openThroughline({ home });
  const { chats } = throughline;
  for (const [chatId, times] of [
    ["a", 2_000],
    ["b", 8_000],
  ] as const) {
    for (let n = 0; n < 20; n++) {
      const content = `secret ${n} ${"x y z ".repeat(times)}`;
      await chats.append(chatId, [{ id: `m${n}`, role: "user", content }]);
    }
  }
  await chats.search("secret", { limit: 1 });
  fill();
  assert.equal((await chats.erase("a", "m3")).erased, true);
  assert.doesNotMatch(fs.readFileSync(join(home, "chats", "a.jsonl"), "latin1"), /secret 3 /);
  // At some time the journal and the index have no more to give for the longer one.
  let erased = 0;
  const erase = async () => {
    fill();
    return (await chats.erase("b", `m${erased}`)).erased;
  };
  await assert.rejects(
    async () => {
      while (await erase()) erased++;
    },
    {
      code: "THROUGHLINE_UNAVAILABLE",
      message: /the disk is full\. Erasing rewrites the log.* Deleting the whole log needs none/,
    },
  );
  t.diagnostic(`${erased} messages of the longer chat were erased`);
  assert.equal((await chats.find("b", `m${erased}`))?.id, `m${erased}`, "nothing was changed");
  assert.equal((await chats.list({ limit: 9 })).chats.length, 2);
  assert.equal((await chats.search("secret", { limit: 50 })).length, 39 - erased);
  fill();
  const { removed, unreachable } = await chats.forget("b");
  assert.deepEqual(removed[0], { place: "transcript", count: 20 - erased });
  assert.deepEqual(unreachable, []);
  assert.notEqual(await chats.forgottenAt("b"), undefined);
  assert.equal(fs.existsSync(join(home, "chats", "b.jsonl")), false);
  const [again] = await chats.append("a", [
    { id: "m19", role: "user", content: `secret 19 ${"x y z ".repeat(2_000)}` },
  ]);
  assert.equal(again?.seq, 20);
  assert.equal((await chats.search("secret", { limit: 50 })).length, 19);
});

test("a start on a full disk lists, searches, repeats an append, erases in the space of the index and forgets", {
  skip,
}, async () => {
  makeRoom();
  const home = join(place, "next");
  const said = (n: number) => ({ id: `m${n}`, role: "user" as const, content: texts[n] ?? "" });
  const texts = Array.from(
    { length: 20 },
    (_, n) => `secret ${n} ${randomText(12_000).replace(/.{6}/g, "$& ")}`,
  );
  {
    await using throughline = await openThroughline({ home });
    for (const chatId of ["a", "b"]) {
      for (let n = 0; n < 20; n++) await throughline.chats.append(chatId, [said(n)]);
    }
  }
  fill();
  await using throughline = await openThroughline({ home });
  const { chats } = throughline;
  const checkHas = async (a: number, b: number) => {
    assert.equal((await chats.list({ limit: 9 })).chats.length, b > 0 ? 2 : 1);
    assert.equal((await chats.search("secret", { limit: 50 })).length, a + b);
    assert.equal((await chats.append("a", [said(19)]))[0]?.seq, 20);
  };
  await checkHas(20, 20);
  assert.equal((await chats.erase("a", "m3")).erased, true);
  await checkHas(19, 20);
  await chats.forget("b");
  await checkHas(19, 0);
  assert.equal((await chats.append("a", [{ role: "user", content: "new" }]))[0]?.seq, 21);
});

/** Appends what its input says, and is killed. */
const killed = `
  import fs from "node:fs";
  const { openThroughline } = await import(process.argv[1]);
  const { chats } = await openThroughline({ home: process.argv[2] });
  for (const [chatId, id, content] of JSON.parse(fs.readFileSync(0, "utf8"))) {
    await chats.append(chatId, [{ id, role: "user", content }]);
  }
  process.kill(process.pid, "SIGKILL");
`;
const module = new URL("../../src/core/throughline.ts", import.meta.url).href;

for (const { took, kept = 0.5, length, last = length, earlier = 0, isRead = true } of [
  { took: "nothing", kept: 1, length: 100, last: 500_000 },
  { took: "what the index of two chats has room for", kept: 0.75, length: 100 },
  { took: "what the index of three chats has room for", length: 12_000, earlier: 40 },
  { took: "more than there is room for", kept: 0.1, length: 40_000, isRead: false },
]) {
  test(`a home that was killed opens on a full disk where a power cut took ${took}`, {
    skip,
  }, async () => {
    makeRoom();
    fs.rmSync(join(place, "next"), { recursive: true, force: true });
    const home = join(place, "killed");
    fs.rmSync(home, { recursive: true, force: true });
    const text = (bytes: number) => `secret ${randomText(bytes).replace(/.{6}/g, "$& ")}`;
    {
      await using throughline = await openThroughline({ home });
      const content = text(12_000);
      for (let n = 0; n < earlier; n++)
        await throughline.chats.append("c", [{ role: "user", content }]);
    }
    const said = Array.from({ length: 30 }, (_, n) => [
      n % 2 === 0 ? "a" : "b",
      `m${n}`,
      text(n < 29 ? length : last),
    ]);
    const { signal, stderr } = spawnSync(
      process.execPath,
      ["--input-type=module", "-e", killed, module, home],
      { encoding: "utf8", input: JSON.stringify(said) },
    );
    assert.equal(signal, "SIGKILL", stderr);
    for (const chatId of ["a", "b"]) {
      const file = join(home, "chats", `${chatId}.jsonl`);
      fs.truncateSync(file, Math.round(fs.statSync(file).size * kept));
    }
    fill();
    const checkHas = async ({ chats }: Throughline, chatId: string, ...more: readonly string[]) => {
      const found = await Array.fromAsync(chats.logs.read(chatId));
      const expected = said.filter(([id]) => id === chatId).map(([, id]) => id);
      assert.deepEqual(
        found.map(({ id }) => id),
        [...expected, ...more],
      );
    };
    const long = { id: "new", role: "user", content: randomText(500_000) } as const;
    {
      await using throughline = await openThroughline({ home });
      const { chats } = throughline;
      if (!isRead) {
        const full = { code: "THROUGHLINE_UNAVAILABLE", message: /full/ };
        await assert.rejects(checkHas(throughline, "a"), full);
        makeRoom();
      }
      for (const chatId of ["a", "b"]) await checkHas(throughline, chatId);
      assert.equal((await chats.list({ limit: 9 })).chats.length, earlier > 0 ? 3 : 2);
      fill();
      await assert.rejects(chats.append("a", [long]), {
        code: "THROUGHLINE_UNAVAILABLE",
        message: /the disk is full/,
      });
      assert.equal((await chats.search("secret", { limit: 200 })).length, 30 + earlier);
      await chats.forget("b");
      makeRoom();
      await chats.append("a", [long]);
      await checkHas(throughline, "a", "new");
    }
    await using throughline = await openThroughline({ home });
    await checkHas(throughline, "a", "new");
  });
}

import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { type ListenerOwner, listenerOwner } from "./listener-owner.ts";

const head =
  "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode";

/** A line of `/proc/net/tcp`; 2CAA is 11434. */
function row(uid: number, { local = "0100007F:2CAA", state = "0A" } = {}): string {
  return `   1: ${local} 00000000:0000 ${state} 00000000:00000000 00:00000000 00000000  ${uid}        0 7 1 0 100 0`;
}

const six = "00000000000000000000000001000000:2CAA";
const ollama = "http://127.0.0.1:11434";
const tables: readonly [
  string,
  { tcp: readonly string[]; tcp6?: readonly string[] },
  ListenerOwner,
][] = [
  ["this user", { tcp: [row(1000)] }, "own"],
  ["root", { tcp: [row(0)] }, "own"],
  ["another user", { tcp: [row(998)] }, "other"],
  ["another user, on every address", { tcp: [row(998, { local: "00000000:2CAA" })] }, "other"],
  ["another user, on IPv6", { tcp: [], tcp6: [row(998, { local: six })] }, "other"],
  [
    "this user, and another on IPv6",
    { tcp: [row(1000)], tcp6: [row(998, { local: six })] },
    "other",
  ],
  ["nobody", { tcp: [], tcp6: [] }, "none"],
  ["another user on another port", { tcp: [row(998, { local: "0100007F:2CAB" })] }, "none"],
  ["a connection of another user", { tcp: [row(998, { state: "01" }), row(1000)] }, "own"],
];
for (const [who, { tcp, tcp6 }, owner] of tables) {
  test(`a port on which ${who} listens is ${owner}`, async () => {
    const read = async (name: "tcp" | "tcp6") => {
      const rows = { tcp, tcp6 }[name];
      if (rows === undefined) throw new Error("ENOENT");
      return `${[head, ...rows].join("\n")}\n`;
    };
    assert.equal(await listenerOwner(ollama, { read, uid: 1000 }), owner);
  });
}

test("a system without such tables, or without users, does not say", async () => {
  const read = () => Promise.reject(new Error("ENOENT"));
  assert.equal(await listenerOwner(ollama, { read, uid: 1000 }), "unknown");
  assert.equal(
    await listenerOwner(ollama, { read: async () => row(0), uid: undefined }),
    "unknown",
  );
});

for (const url of ["http://box.lan:11434", "http://10.0.0.7:11434", "http://127.0.0.1.evil.test"]) {
  test(`${url} is not an address of this machine's own`, async () => {
    const read = async () => row(0);
    assert.equal(await listenerOwner(url, { read, uid: 1000 }), "elsewhere");
  });
}

test("a server of this process is its user's own, and nothing after it is closed", {
  skip: process.platform !== "linux" && "only Linux says",
}, async () => {
  const server = createServer();
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const { port } = server.address() as AddressInfo;
  assert.equal(await listenerOwner(`http://127.0.0.1:${port}`), "own");
  await new Promise((done) => server.close(done));
  assert.equal(await listenerOwner(`http://127.0.0.1:${port}`), "none");
});

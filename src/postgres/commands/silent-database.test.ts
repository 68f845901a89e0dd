// A database that takes what it is sent and closes nothing, as one does that hangs or lost its power.
import assert from "node:assert/strict";
import { connect, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { Process, runCli, temporaryDirectory } from "../../../test/support/command-line.ts";
import { testDatabase } from "../../../test/support/test-postgres.ts";

const { skip, url: plain } = await testDatabase();
const url = `${plain}?durability=process`;

/** The database, by a way on which nobody hears that it ended a connection; silent once it is told to. */
async function silentWay(t: TestContext) {
  const { hostname, port } = new URL(plain);
  const sockets: Socket[] = [];
  const listener = createServer({ allowHalfOpen: true }, (client) => {
    const database = connect(Number(port), hostname);
    sockets.push(client, database);
    for (const socket of [client, database]) socket.on("error", () => undefined);
    client.pipe(database, { end: false });
    database.pipe(client, { end: false });
  });
  await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    listener.close();
  });
  const address = listener.address();
  assert.ok(address !== null && typeof address === "object");
  const store = new URL(url);
  store.host = `127.0.0.1:${address.port}`;
  const silence = () => {
    for (const socket of sockets) socket.unpipe().pause();
  };
  return { store: store.href, silence };
}

async function endsWithin(ms: number, process: Process): Promise<number | null> {
  const limit = setTimeout(() => process.child.kill("SIGKILL"), ms);
  const { code } = await process.ended();
  clearTimeout(limit);
  return code;
}

test("a command ends soon after its work, though the database closes no connection", {
  skip,
}, async (t) => {
  const home = join(temporaryDirectory(t), "home");
  const { store } = await silentWay(t);
  const made = await runCli(["sessions", "list", "--store", url], { home });
  assert.equal(made.code, 0, made.err);
  const list = new Process(t, ["sessions", "list", "--json", "--store", store], { home });
  await list.prints("chats");
  assert.equal(await endsWithin(8_000, list), 0);
});

test("serve ends some seconds after SIGTERM at the latest, though the database fell silent", {
  skip: process.platform === "win32" ? "it has no signals" : skip,
}, async (t) => {
  const { store, silence } = await silentWay(t);
  const [leader, other] = [url, store].map((each, index) => {
    const home = join(temporaryDirectory(t), `home-${index}`);
    return new Process(t, ["serve", "--port", "0", "--store", each], { home });
  });
  assert.ok(leader && other);
  await leader.url();
  await other.url();
  await pause(1_000); // until it asks nothing any more, as a rule
  silence();
  other.child.kill("SIGTERM");
  // With 1 when it was asking something just then.
  assert.notEqual(await endsWithin(8_000, other), null);
});

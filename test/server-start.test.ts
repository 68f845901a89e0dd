// A port that is open before its home is: what becomes of the requests that come.
import assert from "node:assert/strict";
import { once } from "node:events";
import { readdirSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import { WebSocket } from "ws";
import { openThroughline } from "../src/core/throughline.ts";
import { resolvePort } from "../src/server/options.ts";
import { openPort } from "../src/server/port.ts";
import { Process, temporaryDirectory } from "./support/command-line.ts";
import { freePort } from "./support/loopback.ts";
import { companion, jsonOf, problemOf } from "./support/server-fixture.ts";

const json = { "content-type": "application/json" };

/** Resolves with the answer to what is not HTTP, which needs no server. */
async function refusal(port: number): Promise<string> {
  const socket = connect(port, "127.0.0.1");
  socket.write("this is not HTTP\r\n\r\n");
  const [answer] = await once(socket, "data");
  return String(answer);
}

test("requests that come to a port without a server wait for the server", async (t) => {
  const port = await openPort({ port: 0 }, resolvePort({ version: "1.2.3" }));
  const waiting = [
    fetch(`${port.url}/`),
    fetch(`${port.url}/api/chats/a/messages`, {
      ...{ method: "POST", headers: json, body: '{"content":"Hello"}' },
    }),
  ] as const;
  await refusal(port.address.port); // they have arrived by now
  const c = await companion([["Hi"]], { version: "1.2.3" });
  t.after(() => c.server.close());
  const { url } = await c.listen(port);
  assert.equal(url, port.url);
  const [page, answer] = await Promise.all(waiting);
  assert.match(page.headers.get("content-type") ?? "", /text\/html/);
  assert.equal((await jsonOf(answer, 200)).assistant.content, "Hi");
  assert.deepEqual(await jsonOf(await fetch(`${url}/readyz`), 200), { status: "ready" });
});

test("a port that never gets a server closes, and answers what waits", async () => {
  const port = await openPort(
    { port: 0 },
    resolvePort({ version: "1.2.3", limits: { flushMs: 50 } }),
  );
  const waiting = fetch(`${port.url}/api/chats`);
  const socket = new WebSocket(`${port.url.replace("http", "ws")}/api/media`);
  const refused = once(socket, "unexpected-response");
  await refusal(port.address.port);
  await port.close(Promise.resolve());
  await problemOf(await waiting, 503, "THROUGHLINE_CLOSED");
  const [, response] = (await refused) as [unknown, { readonly statusCode: number }];
  assert.equal(response.statusCode, 503);
  await assert.rejects(fetch(`${port.url}/healthz`));
});

test("serve takes requests before it has looked through its home, and answers with all of it then", async (t) => {
  const home = join(temporaryDirectory(t), "home");
  await using throughline = await openThroughline({ home, durability: "process" });
  for (let chat = 0; chat < 60; chat++) {
    const messages = Array.from({ length: 100 }, (_, n) => {
      return { role: "user" as const, content: `message ${n} of chat ${chat} about ${n * chat}` };
    });
    await throughline.chats.append(`chat ${chat}`, messages);
  }
  await throughline.close();
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  // On a busy machine the home may be open before the first request comes: then it is tried again.
  let isOpening = false;
  for (let tries = 0; tries < 20 && !isOpening; tries++) {
    for (const name of readdirSync(home)) {
      if (name.startsWith("index.db")) rmSync(join(home, name));
    }
    const serve = new Process(t, ["serve", "--port", String(port)], { home });
    let first: string | undefined;
    while (first === undefined) first = await refusal(port).catch(() => undefined);
    const chats = fetch(`${url}/api/chats?limit=1000`);
    isOpening = serve.out.text === "";
    assert.equal((await jsonOf(await chats, 200)).chats.length, 60);
    assert.equal(await serve.url(), url);
    await serve.kill("SIGTERM");
  }
  assert.ok(isOpening, "no request came before the home was open");
});

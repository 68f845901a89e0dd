// Servers of the command line beside each other, on one home and one database.
import assert from "node:assert/strict";
import fs from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { Process, runCli, temporaryDirectory } from "../support/command-line.ts";
import { noPostgres, startPostgres, type TestServer } from "../support/test-postgres.ts";

const skip = noPostgres() ?? false;
const password = "s3cr3t";
let server: TestServer | undefined;
if (!skip) {
  server = await startPostgres();
  after(async () => {
    await server?.stop();
    fs.rmSync(server?.directory ?? "", { recursive: true, force: true });
  });
}

test("two servers with one home and one database serve the same chats; one of them keeps moments", {
  skip,
}, async (t) => {
  const home = join(temporaryDirectory(t), "home");
  const url = new URL(server?.url ?? "");
  url.password = password;
  const store = url.href;
  const start = async () => {
    const args = ["serve", "--port", "0", "--store", store];
    const running = new Process(t, args, { home, variables: { LOG_LEVEL: "warn" } });
    await running.out.has(/listening on \S+ \(store postgres:/);
    return { running, url: /on (\S+) /.exec(running.out.text)?.[1] ?? "" };
  };
  const first = await start();
  const second = await start();
  assert.match(second.running.err.text, /another process records the moments of this home/);
  const sent = await fetch(`${first.url}/api/chats/a/messages`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ content: "hello" }),
  });
  assert.equal(sent.status, 200);
  const metrics = await (await fetch(`${first.url}/metrics`)).text();
  assert.match(metrics, /^throughline_postgres_connections [1-9]/m);
  assert.match(metrics, /^# TYPE throughline_lease_waits_total counter$/m);
  const { messages } = (await (await fetch(`${second.url}/api/chats/a/messages`)).json()) as {
    messages: { content: string }[];
  };
  assert.equal(messages[0]?.content, "hello");
  const locked = await runCli(["export", "--store", store, "--to", join(home, "../x")], { home });
  assert.match(
    locked.err,
    /a server runs this companion on the source.*THROUGHLINE_LOCKED\]\nStop every `throughline serve`/,
  );
  for (const { running } of [first, second]) {
    running.child.kill("SIGTERM");
    assert.equal((await running.ended()).code, 0, running.err.text);
    assert.ok(!`${running.out.text}${running.err.text}`.includes(password));
  }
});

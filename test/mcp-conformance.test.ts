// The conformance scenarios of the protocol, by their own program, over HTTP.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";
import { promisify, stripVTControlCharacters } from "node:util";
import { mcpRoutes } from "../src/adapters/mcp/routes.ts";
import { companion } from "./support/server-fixture.ts";

const conformance = join(
  import.meta.dirname,
  "../node_modules/@modelcontextprotocol/conformance/dist/index.js",
);

test("what is served passes every conformance scenario that needs no fixture", async (t) => {
  const { server, listen, throughline } = await companion([], {
    features: [mcpRoutes(undefined)],
  });
  t.after(async () => {
    await server.close();
    await throughline.close();
  });
  const { url } = await listen({ port: 0 });
  const args = [conformance, "server", "--url", `${url}/mcp`];
  // It ends with 1 where a scenario fails.
  const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: 60_000 }).catch(
    (error: { stdout: string }) => error,
  );
  const lines = stripVTControlCharacters(stdout).matchAll(
    /^[✓✗] ([\w-]+): (\d+) passed, (\d+) failed$/gm,
  );
  const found = Array.from(lines, ([, name, passed, failed]) => [name, Number(passed), failed]);
  assert.ok(found.length >= 30, stdout);
  const passed = found.flatMap(([name, count, failed]) => (failed === "0" ? [[name, count]] : []));
  assert.deepEqual(passed, [
    ["server-initialize", 1],
    ["ping", 1],
    ["tools-list", 1],
    // It wants a session, and makes no check where there is none.
    ["server-sse-multiple-streams", 0],
    ["resources-list", 1],
    ["dns-rebinding-protection", 2],
  ]);
});

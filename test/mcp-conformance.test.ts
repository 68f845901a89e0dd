// The conformance scenarios of the protocol, by their own program, over HTTP.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { promisify, stripVTControlCharacters } from "node:util";
import { mcpRoutes, mountMcp } from "../src/adapters/mcp/routes.ts";
import { serverOver } from "../src/adapters/mcp/server.ts";
import type { Router } from "../src/server/router.ts";
import type { ServerFeature } from "../src/server/server.ts";
import { addFixtures } from "./support/mcp-fixtures.ts";
import { companion } from "./support/server-fixture.ts";

const conformance = join(
  import.meta.dirname,
  "../node_modules/@modelcontextprotocol/conformance/dist/index.js",
);

/** @returns the scenarios that pass, with the number of their checks, and those that do not. */
async function scenarios(t: TestContext, feature: ServerFeature) {
  const { server, listen, throughline } = await companion([], { features: [feature] });
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
  const found = Array.from(lines, ([, name = "", passed, failed]) => {
    return { name, passed: Number(passed), isWhole: failed === "0" };
  });
  assert.ok(found.length >= 30, stdout);
  return {
    passed: found.flatMap(({ name, passed, isWhole }) => (isWhole ? [[name, passed]] : [])),
    failed: found.flatMap(({ name, isWhole }) => (isWhole ? [] : [name])),
  };
}

test("what is served passes every conformance scenario that needs no fixture", async (t) => {
  const { passed } = await scenarios(t, mcpRoutes(undefined));
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

test("with the fixtures of the scenarios, only those fail that ask the client in the middle of a request", async (t) => {
  const feature = (router: Router) => {
    const { throughline, version } = router.ports;
    const makeServer = serverOver(throughline, { version });
    return mountMcp(router, async () => () => {
      const server = makeServer();
      addFixtures(server);
      return server;
    });
  };
  const { failed } = await scenarios(t, feature);
  // A request stands alone here: the client's answer would come to another server.
  assert.deepEqual(failed, [
    "tools-call-sampling",
    "tools-call-elicitation",
    "elicitation-sep1034-defaults",
    "elicitation-sep1330-enums",
  ]);
});

// The agent of examples/agent, in Python, against a real server: it is killed, and the server too.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { Process, temporaryDirectory } from "./support/command-line.ts";
import { jsonOf } from "./support/server-fixture.ts";

const python = process.env["PYTHON"] ?? "python3";
const agent = join(import.meta.dirname, "../examples/agent/agent.py");
const killer = join(import.meta.dirname, "support/kill-program.py");
const chat = "robot:7";

test("the guide shows the agent as it is tested, in at most 40 lines", () => {
  const text = fs.readFileSync(agent, "utf8");
  const page = join(import.meta.dirname, "../docs/guides/existing-agent.md");
  const isShown = fs.readFileSync(page, "utf8").includes(`\`\`\`python\n${text}\`\`\`\n`);
  assert.ok(isShown, "copy examples/agent/agent.py into it");
  assert.ok(text.split("\n").length <= 41);
});

/** Its requests are 1 the beginning, 2 the call, 3 the result, 4 the end. The tool runs before 3. */
const all = [
  // Its tool ran and the result was not stored: this step was not finished.
  { request: 3, moment: "before", toolRuns: 2, killsServer: false },
  { request: 2, moment: "after", toolRuns: 1, killsServer: true },
  { request: 4, moment: "before", toolRuns: 1, killsServer: false },
  { request: 3, moment: "after", toolRuns: 1, killsServer: true },
  { request: 1, moment: "after", toolRuns: 1, killsServer: false },
  { request: 4, moment: "after", toolRuns: 1, killsServer: true },
] as const;
/** Three bring each provider back after the other one. */
const places = all.slice(0, process.env["THROUGHLINE_FULL"] === "1" ? all.length : 3);

test(`an agent in Python, killed at ${places.length} places, runs no finished step again and answers once`, async (t) => {
  const home = join(temporaryDirectory(t), "home");
  const serve = () => new Process(t, ["serve", "--port", "0"], { home });
  let server = serve();
  let url = await server.url();
  const get = async (path: string) =>
    jsonOf(await fetch(`${url}/api/chats/${encodeURIComponent(chat)}${path}`), 200);
  for (const [index, { request, moment, toolRuns, killsServer }] of places.entries()) {
    const id = `m${index}`;
    // Two providers take turns: each comes back after the other one answered.
    const provider = index % 2 === 0 ? "anthropic" : "openai";
    const run = (program: readonly string[]) =>
      spawnSync(python, [...program, url, chat, id, `Is the lamp on? ${id}`, provider], {
        encoding: "utf8",
      });
    const first = run([killer, String(request), moment, agent]);
    assert.equal(first.signal, "SIGKILL", first.stderr);
    if (killsServer) {
      server.child.kill("SIGKILL");
      await server.ended();
      server = serve();
      url = await server.url();
    }
    const second = run([agent]);
    assert.equal(second.status, 0, second.stderr);
    const ran = (first.stdout + second.stdout).match(/The tool runs/g) ?? [];
    assert.equal(ran.length, toolRuns, `killed ${moment} request ${request}`);
    const third = run([agent]);
    assert.deepEqual([third.status, third.stdout], [0, ""], "it was answered");
    const view = await get("");
    const { session_id, message_count, total_tokens, total_cost_usd } = view;
    const nth = Math.floor(index / 2) + 1;
    assert.deepEqual(
      [view.provider, session_id, message_count, total_tokens, total_cost_usd],
      [provider, `${provider} began at m${index % 2}`, nth, 45 * nth, 0.25 * nth],
    );
    assert.deepEqual(view.unanswered_ids, []);
  }
  const { messages } = await get("/messages?limit=100");
  const ids = messages.map(({ id }: { readonly id: string }) => id);
  const expected = places.flatMap((_, index) =>
    ["", "-1", "-2", "-3"].map((step) => `m${index}${step}`),
  );
  assert.deepEqual(ids, expected);
});

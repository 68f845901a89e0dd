// The program with an SDK of OpenTelemetry that the person who starts it preloads.
import assert from "node:assert/strict";
import fs from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { Process, postTo, temporaryDirectory } from "./support/command-line.ts";

/** An SDK that appends the attributes of each span to a file, as it ends. @returns what Node preloads. */
function preloaded(folder: string, to: string): string {
  const path = join(folder, "sdk.mjs");
  const from = (name: string) => JSON.stringify(import.meta.resolve(name));
  fs.writeFileSync(
    path,
    `import fs from "node:fs";
    import { context, trace } from ${from("@opentelemetry/api")};
    import { AsyncLocalStorageContextManager } from ${from("@opentelemetry/context-async-hooks")};
    import { SimpleSpanProcessor, TracerProvider } from ${from("@opentelemetry/sdk-trace")};
    const exporter = {
      export: (spans, done) => {
        for (const span of spans) {
          const { traceId } = span.spanContext();
          const line = JSON.stringify({ name: span.name, traceId, ...span.attributes });
          fs.appendFileSync(${JSON.stringify(to)}, line + "\\n");
        }
        done({ code: 0 });
      },
      shutdown: async () => {},
    };
    context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
    trace.setGlobalTracerProvider(
      new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] }),
    );`,
  );
  return path;
}

async function serve(t: TestContext, home: string, node: readonly string[]) {
  const server = new Process(t, ["serve", "--port", "0"], { home, node });
  const url = await server.url();
  const say = async (content: string) => {
    const response = await postTo(url, "/api/chats/me/messages", { content });
    assert.equal(response.status, 200);
    return (await response.json()) as { readonly user: Record<string, unknown> };
  };
  const kill = async () => {
    await server.kill();
  };
  return { say, kill };
}

test("a server traces its turns for the SDK that was preloaded, and the message has the trace's id", async (t) => {
  const folder = temporaryDirectory(t);
  const to = join(folder, "spans.jsonl");
  const node = ["--import", preloaded(folder, to)];
  const home = join(folder, "home");
  const first = await serve(t, home, node);
  await first.say("Hello");
  await first.kill();
  const second = await serve(t, home, node);
  const { user } = await second.say("Where were we?");
  await second.say("And now?");
  await second.kill();
  const spans = fs
    .readFileSync(to, "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
  const turns = spans.filter((span) => span["gen_ai.operation.name"] === "invoke_agent");
  assert.deepEqual(
    turns.map((span) => [span["throughline.turn.stage"], span["throughline.restart.type"]]),
    [
      ["done", "fresh_start"],
      ["done", "crash_recovery"],
      ["done", undefined],
    ],
  );
  assert.equal(user["trace_id"], turns[1].traceId);
});

test("without one a server loads nothing of OpenTelemetry, and stores nothing of it", async (t) => {
  const folder = temporaryDirectory(t);
  const notes = join(folder, "loaded.txt");
  const noting = join(folder, "noting.mjs");
  fs.writeFileSync(
    noting,
    `import fs from "node:fs";
    import { registerHooks } from "node:module";
    registerHooks({ load(url, context, next) {
      fs.appendFileSync(${JSON.stringify(notes)}, url + "\\n");
      return next(url, context);
    } });`,
  );
  const server = await serve(t, join(folder, "home"), ["--import", noting]);
  const { user } = await server.say("Hello");
  await server.kill();
  assert.equal(user["trace_id"], undefined);
  const loaded = fs.readFileSync(notes, "utf8");
  assert.match(loaded, /serve/);
  assert.doesNotMatch(loaded, /@opentelemetry|open-telemetry/);
});

// Processes that are killed in the middle of runs with a tool.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { test } from "node:test";
import { Collected, temporaryDirectory } from "../../../test/support/command-line.ts";
import { answerTo, graphWithTool } from "../../../test/support/langgraph-graph.ts";
import { openThroughline } from "../../core/throughline.ts";
import { seededRandom } from "../../testing/random.ts";
import { ThroughlineSaver } from "./saver.ts";

const kills = process.env["THROUGHLINE_FULL"] === "1" ? 40 : 2;
const script = join(import.meta.dirname, "../../../test/support/langgraph-child.ts");
const config = { configurable: { thread_id: "t" } };

/** Runs a process until it has answered so many questions, and a while longer. @returns what it answered. */
async function killed(home: string, name: string, answers: number, delayMs: number) {
  const child = spawn(process.execPath, [script, home, "t", name]);
  const [out, errors] = [new Collected(), new Collected()];
  child.stdout.pipe(out);
  child.stderr.pipe(errors);
  const ended = once(child, "close");
  const isThere = out.has(`${name} ${answers}\n`);
  await Promise.race([isThere, ended.then(() => assert.fail(errors.text))]);
  setTimeout(() => child.kill("SIGKILL"), delayMs);
  assert.deepEqual(await ended, [null, "SIGKILL"]);
  return out.text.split("\n").slice(0, -1);
}

test(`after each of ${kills} kills all that was answered is there, and the run under way is finished`, async (t) => {
  const home = join(temporaryDirectory(t), "home");
  const random = seededRandom(7);
  const answered: string[] = [];
  let resumed = 0;
  for (let kill = 1; kill <= kills; kill++) {
    answered.push(...(await killed(home, `k${kill}`, 1 + random(3), random(30))));
    await using throughline = await openThroughline({ home });
    const graph = graphWithTool(new ThroughlineSaver(throughline));
    // The tasks of the next step; one whose writes are stored is not run again.
    const { tasks, next, values } = await graph.getState(config);
    const isCut = tasks.length > 0;
    if (isCut) await graph.invoke(null, config);
    if (isCut) resumed++;
    const texts = textsOf((await graph.getState(config)).values);
    const wanted = new Set(answered.flatMap((text) => [text, answerTo(text)]));
    assert.deepEqual(
      texts.filter((text) => wanted.has(text)),
      [...wanted],
      `kill ${kill}`,
    );
    // A run that the process had begun is whole: a question, a call, a result and an answer each.
    if (texts.length % 4 !== 0)
      console.log(
        next,
        textsOf(values).slice(-5),
        texts.slice(-9),
        (await Array.fromAsync(graph.getStateHistory(config)))
          .slice(0, 8)
          .map((s) => [s.metadata, s.next, s.createdAt, s.values.messages.length]),
      );
    assert.equal(texts.length % 4, 0);
    assert.match(texts.at(-1) ?? "", /^answer to result of call/);
  }
  t.diagnostic(`${answered.length} runs answered, ${resumed} cut in the middle and finished`);
});

const textsOf = ({ messages }: { readonly messages: readonly { readonly text: string }[] }) =>
  messages.map(({ text }) => text);

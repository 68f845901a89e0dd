// Processes that are killed in the middle of runs with a tool.
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { temporaryDirectory } from "../../../test/support/command-line.ts";
import { killed } from "../../../test/support/killed.ts";
import { answerTo, graphWithTool } from "../../../test/support/langgraph-graph.ts";
import { openThroughline } from "../../core/throughline.ts";
import { seededRandom } from "../../testing/random.ts";
import { ThroughlineSaver } from "./saver.ts";

const kills = process.env["THROUGHLINE_FULL"] === "1" ? 12 : 2;
const config = { configurable: { thread_id: "t" } };

test(`after each of ${kills} kills all that was answered is there, and the run under way is finished`, async (t) => {
  const home = join(temporaryDirectory(t), "home");
  const random = seededRandom(7);
  const answered: string[] = [];
  let resumed = 0;
  for (let kill = 1; kill <= kills; kill++) {
    const name = `k${kill}`;
    const noted = { once: `${name} ${1 + random(3)}\n`, delayMs: random(30) };
    answered.push(...(await killed("langgraph", [home, "t", name], noted)));
    await using throughline = await openThroughline({ home });
    const graph = graphWithTool(new ThroughlineSaver(throughline));
    // The tasks of the next step; one whose writes are stored is not run again.
    const { tasks } = await graph.getState(config);
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
    assert.equal(texts.length % 4, 0, `kill ${kill}: ${texts.slice(-9).join(", ")}`);
    assert.match(texts.at(-1) ?? "", /^answer to result of call/);
  }
  t.diagnostic(`${answered.length} runs answered, ${resumed} cut in the middle and finished`);
});

const textsOf = ({ messages }: { readonly messages: readonly { readonly text: string }[] }) =>
  messages.map(({ text }) => text);

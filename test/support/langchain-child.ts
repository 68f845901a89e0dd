// A process that adds pairs of messages to a LangChain history and kills itself so many milliseconds after the
// first pair was answered. Arguments: the home, the chat, the delay. It prints each pair that was answered.
import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { ThroughlineChatMessageHistory } from "../../src/adapters/langchain/history.ts";
import { openThroughline } from "../../src/core/throughline.ts";

const [home = "", chat = "", delay = "0"] = process.argv.slice(2);
const history = new ThroughlineChatMessageHistory(await openThroughline({ home }), chat);
for (let n = 1; ; n++) {
  await history.addMessages([
    new HumanMessage({ content: `question ${n}`, name: "ann" }),
    new AIMessage(`answer ${n}`),
  ]);
  process.stdout.write(`${n}\n`);
  if (n === 1) setTimeout(() => process.kill(process.pid, "SIGKILL"), Number(delay));
}

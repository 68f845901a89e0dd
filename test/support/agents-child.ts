// A process that runs an agent with a tool until it is killed. Arguments: the home, the chat, a name for what it
// says. At once it notes each message whose first model call begins, each effect of the tool, and each answer: what
// a killed process has not written is lost.
import { writeSync } from "node:fs";
import { run } from "@openai/agents";
import { ThroughlineSession } from "../../src/adapters/openai/session.ts";
import { openThroughline } from "../../src/core/throughline.ts";
import { agentWithTool, usual } from "./agents-model.ts";

const [home = "", chat = "", name = ""] = process.argv.slice(2);
const note = (what: string) => writeSync(1, `${what}\n`);
const throughline = await openThroughline({ home });
let text = "";
const agent = agentWithTool(
  (input) => {
    if (input.at(-1)?.type !== "function_call_result") note(`asked ${text}`);
    return usual(input);
  },
  () => {
    note(`effect ${text}`);
    return `result of ${text}`;
  },
);
for (let n = 1; ; n++) {
  text = `tool ${name} ${n}`;
  const session = new ThroughlineSession(throughline, chat);
  await run(agent, text, { session, callModelInputFilter: session.beforeModel });
  note(`answered ${text}`);
}

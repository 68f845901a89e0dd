// A model for the OpenAI Agents SDK that answers without a network, and an agent with one tool.
import { Agent, type AgentInputItem, setTracingDisabled, tool, Usage } from "@openai/agents";
import { z } from "zod";

setTracingDisabled(true);

type Input = readonly AgentInputItem[];
type Output = readonly object[];
export type Answers = (input: Input) => Output | Promise<Output>;

const textOf = (item: AgentInputItem | undefined) => {
  const { content } = (item ?? {}) as { content?: unknown };
  return typeof content === "string" ? content : JSON.stringify(content ?? "");
};

export const call = (id: string, text = "{}") => ({
  type: "function_call",
  id: `fc_${id}`,
  callId: id,
  name: "lookup",
  status: "completed",
  arguments: text,
});

export const says = (text: string, id = "msg") => ({
  type: "message",
  id,
  role: "assistant",
  status: "completed",
  content: [{ type: "output_text", text }],
});

/** Calls the tool where the person says "tool", with thoughts before; else it says how much it read. */
export const usual: Answers = (input) => {
  const last = input.at(-1) as { role?: string };
  const count = input.length;
  const thoughts = { type: "reasoning", id: `rs_${count}`, content: [] };
  const isAsked = last.role === "user" && textOf(input.at(-1)).includes("tool");
  if (isAsked) return [thoughts, call(`call_${count}`)];
  return [says(`answer to ${count}`, `msg_${count}`)];
};

/** @param answers what the model answers to its input. */
export function agentsModel(answers: Answers = usual) {
  const answer = async (input: string | AgentInputItem[]) => {
    const items: Input = typeof input === "string" ? [{ role: "user", content: input }] : input;
    return { usage: new Usage(), output: (await answers(items)) as never, responseId: "r" };
  };
  return {
    getResponse: ({ input }: { input: string | AgentInputItem[] }) => answer(input),
    async *getStreamedResponse({ input }: { input: string | AgentInputItem[] }) {
      const { output } = await answer(input);
      yield { type: "response_started" as const };
      const usage = { inputTokens: 1, outputTokens: 1, totalTokens: 2 };
      yield { type: "response_done" as const, response: { id: "r", usage, output } };
    },
  };
}

/** @param run what the tool does. */
export function agentWithTool(
  answers?: Answers,
  run: () => string | Promise<string> = () => "found",
) {
  const lookup = tool({
    name: "lookup",
    description: "Looks something up",
    parameters: z.object({}),
    execute: async () => run(),
  });
  return new Agent({ name: "helper", model: agentsModel(answers), tools: [lookup] });
}

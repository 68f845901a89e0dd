// A LangGraph with a tool: each question leads to a call, its result and an answer that names it.
import { AIMessage, ToolMessage } from "@langchain/core/messages";
import { END, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";

const call = (text: string) =>
  new AIMessage({ content: "", tool_calls: [{ id: `call ${text}`, name: "look", args: {} }] });

export const answerTo = (question: string) => `answer to result of call ${question}`;

export function graphWithTool(checkpointer: BaseCheckpointSaver) {
  return new StateGraph(MessagesAnnotation)
    .addNode("ask", ({ messages }) => ({ messages: [call(messages.at(-1)?.text ?? "")] }))
    .addNode("look", ({ messages }) => {
      const [{ id = "" } = {}] = (messages.at(-1) as AIMessage).tool_calls ?? [];
      return { messages: [new ToolMessage({ content: `result of ${id}`, tool_call_id: id })] };
    })
    .addNode("answer", ({ messages }) => ({
      messages: [new AIMessage(`answer to ${messages.at(-1)?.text}`)],
    }))
    .addEdge(START, "ask")
    .addEdge("ask", "look")
    .addEdge("look", "answer")
    .addEdge("answer", END)
    .compile({ checkpointer });
}

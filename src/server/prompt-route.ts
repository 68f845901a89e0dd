import type { ModelInput } from "../core/chat/message.ts";
import type { PromptSection } from "../core/turns/next-prompt.ts";
import { json, type Router } from "./router.ts";
import { promptQuery, schemaOf } from "./schemas.ts";

/** What a model will get with the next message of a chat. */
export function addPromptRoute(router: Router): void {
  const { turns } = router.ports;
  router.get("/api/chats/{id}/prompt", {
    id: "getNextPrompt",
    query: promptQuery,
    summary: "Get what the model will get with the next message",
    description:
      "Nothing is stored or changed, and no model is asked. The chat may not exist yet. Tokens are " +
      "estimates, as the budget of the history counts them. What happens until the message is sent " +
      "changes the prompt, and so does what its words do to the mood.",
    answers: { 200: { says: "The prompt, part by part.", schema: schemaOf("nextPrompt") } },
    answer: async ({ params, query }) => {
      const prompt = await turns.nextPrompt(params.id, query);
      return json({
        chat_id: params.id,
        provider: prompt.provider,
        model: prompt.model,
        window: prompt.window ?? null,
        sections: prompt.sections.map(sectionJson),
        total_tokens: prompt.tokens,
        history_tokens: prompt.historyTokens,
        reported_tokens: prompt.reportedTokens ?? null,
        resumes: prompt.resumes,
        ends: prompt.ends,
        reason: prompt.reason,
      });
    },
  });
}

function sectionJson(section: PromptSection): object {
  if (section.name !== "history") return section;
  const { name, tokens, messages } = section;
  return { name, tokens, messages: messages.map(messageJson) };
}

function messageJson(message: ModelInput & { readonly tokens: number }): object {
  const { role, content, tokens } = message;
  if (message.role === "user") return { role, content, tokens };
  if (message.role === "assistant") {
    return { role, content, tokens, tool_calls: message.toolCalls };
  }
  const { toolCallId: tool_call_id, toolName: name, isError: is_error } = message;
  return { role, content, tokens, tool_call_id, name, is_error };
}

import { z } from "zod";
import type { ModelInput } from "../core/chat/message.ts";
import type { ModelList } from "../core/models/responder.ts";
import type { PromptSection } from "../core/turns/next-prompt.ts";
import { json, type Router } from "./router.ts";
import { flag, named, schemaOf } from "./schemas.ts";

const promptQuery = () =>
  z.strictObject({
    content: z
      .string()
      .max(8_000, "must be at most 8000 characters")
      .optional()
      .describe("A message that is being typed. Without it the prompt has no newest message."),
    provider: named(),
    model: named(),
  });

/** Which models a message can name, and what one will get. */
export function addModelRoutes(router: Router): void {
  addPrompt(router);
  const { turns } = router.ports;
  router.get("/api/models", {
    id: "listModels",
    summary: "List the models that can be chosen",
    description:
      "For each provider that may be asked: the configured model, then the provider's own list. A message " +
      "chooses one by its `provider` and `model`, and the chat keeps it. A provider that does not answer " +
      "within 2 seconds has an `error` and only its configured model. Lists are kept for a minute.",
    query: () =>
      z.strictObject({
        again: flag().describe("`true`: asks the providers also where their lists are kept."),
        ollama: flag().describe(
          "`true`: looks for an Ollama on this machine, if no model was named at the start. It is listed from then on.",
        ),
      }),
    answers: { 200: { says: "The models.", schema: schemaOf("modelList") } },
    answer: async ({ query }) => {
      const [again, ollama] = [query.again === "true", query.ollama === "true"];
      return json(modelListJson(await turns.models({ again, ollama })));
    },
  });
}

export function modelListJson({ standard, providers }: ModelList) {
  return {
    standard,
    providers: providers.map(({ provider, models, error }) => ({
      provider,
      models: models.map(({ model, sizeBytes, takesPictures }) => ({
        model,
        size_bytes: sizeBytes,
        takes_pictures: takesPictures,
      })),
      error,
    })),
  };
}

/** What a model will get with the next message of a chat. */
function addPrompt(router: Router): void {
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
  return { name, tokens, messages: messages.map(promptMessageJson) };
}

function promptMessageJson(message: ModelInput & { readonly tokens: number }): object {
  const { role, content, tokens } = message;
  if (message.role === "user") return { role, content, tokens };
  if (message.role === "assistant") {
    return { role, content, tokens, tool_calls: message.toolCalls };
  }
  const { toolCallId: tool_call_id, toolName: name, isError: is_error } = message;
  return { role, content, tokens, tool_call_id, name, is_error };
}

import type { ProviderMetadata } from "ai";
import type { ModelInput } from "../chat/message.ts";
import { readProviderData } from "./provider-data.ts";
import type { ResponderRequest } from "./responder.ts";

/** What one request says, after it is known whether the provider can resume. */
export interface SessionPlan {
  /** The persona as the AI SDK's `instructions`; absent where it travels in `providerOptions`. */
  readonly instructions?: string | undefined;
  readonly messages: readonly ModelInput[];
  readonly providerOptions?: { readonly openai: Record<string, string> };
  readonly resumed: boolean;
}

/** The AI SDK's name for a model behind OpenAI's Responses API: the one that keeps sessions. */
const openAiResponses = "openai.responses";

/**
 * How to ask, resuming the provider's session if it has one.
 *
 * A session is resumed only where it is known what its provider has not seen: everything after the
 * answer whose stored `response_id` is the session's id, be it one message or the turns that other
 * models answered since; or everything, when no model has answered in this history (an imported
 * id). Otherwise the whole history goes out without the id, which says the same at a higher price.
 *
 * The persona goes into the Responses API's own `instructions` field. It is not carried over when a
 * session resumes, while a message would be repeated in the provider's thread at each turn.
 */
export function planSession(aiProvider: string, request: ResponderRequest): SessionPlan {
  const { instructions, messages } = request;
  if (aiProvider !== openAiResponses) {
    return { messages, resumed: false, instructions: instructions || undefined };
  }
  const persona: Record<string, string> = instructions === "" ? {} : { instructions };
  const id = request.providerSessionId;
  const unseen = id === undefined ? undefined : unseenMessages(messages, id);
  if (id === undefined || unseen === undefined) {
    return { messages, resumed: false, providerOptions: { openai: persona } };
  }
  const openai = { ...persona, previousResponseId: id };
  return { messages: unseen, resumed: true, providerOptions: { openai } };
}

function unseenMessages(
  messages: readonly ModelInput[],
  id: string,
): readonly ModelInput[] | undefined {
  const seen = messages.findLastIndex(
    (message) =>
      message.role === "assistant" && readProviderData(message.providerData).responseId === id,
  );
  const unseen = messages.slice(seen + 1);
  if (seen === -1 && unseen.some((message) => message.role === "assistant")) return undefined;
  return unseen.length === 0 ? undefined : unseen;
}

/** The id that a next turn can resume, from the metadata of a finished answer. */
export function sessionIdOf(
  aiProvider: string,
  metadata: ProviderMetadata | undefined,
): string | undefined {
  if (aiProvider !== openAiResponses) return undefined;
  const id = metadata?.["openai"]?.["responseId"];
  return typeof id === "string" && id !== "" ? id : undefined;
}

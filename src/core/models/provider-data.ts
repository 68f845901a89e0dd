import type { ProviderMetadata } from "ai";
import type { ModelInput } from "../chat/message.ts";
import { isJsonObject, type JsonObject } from "../json.ts";
import { fitting, flag, is, isStorable, list, object, optional, Place, text } from "../shape.ts";
import type { ResponderRequest } from "./responder.ts";

/** One piece of thinking that its provider wants to see again. */
export interface Thought {
  readonly text: string;
  /** By provider, as the AI SDK names them: `{ anthropic: { signature } }`. Absent: plain text. */
  readonly metadata?: ProviderMetadata | undefined;
}

/**
 * What is stored beside an answer or a tool call for the model that made it, and for no other:
 * `{ response_id?, reasoning?: [{ text, metadata? }], continues? }`.
 */
interface ProviderData {
  /** The provider's id of this answer: where a session can be resumed. */
  readonly responseId?: string | undefined;
  readonly reasoning?: readonly Thought[] | undefined;
  /** The model made this in one message with the call before it. */
  readonly continues?: boolean | undefined;
}

/** The longest plain thought that is kept, in UTF-16 units: its provider wants one, not all of it. */
const mostPlainChars = 100_000;

/** The stored form, or `undefined` when there is nothing to store. */
export function writeProviderData(data: ProviderData): JsonObject | undefined {
  const reasoning = (data.reasoning ?? []).flatMap(storedThought);
  const { responseId: response_id, continues } = data;
  if (response_id === undefined && reasoning.length === 0 && !continues) return undefined;
  const stored = { response_id, reasoning: reasoning.length > 0 ? reasoning : undefined };
  return continues ? { ...stored, continues } : stored;
}

function storedThought({ text: said, metadata: given }: Thought) {
  if (given === undefined) {
    return said.trim() === "" ? [] : [{ text: said.slice(0, mostPlainChars).toWellFormed() }];
  }
  const metadata = replayable(given);
  return metadata === undefined ? [] : [{ text: said, metadata }];
}

const shape = object<ProviderData>(
  {
    responseId: ["response_id", optional(text())],
    reasoning: list(
      object<Thought>({ text: text(), metadata: optional(fitting(isJsonObject, "is none", {})) }),
    ),
    continues: optional(flag()),
  },
  "left out",
);

/** Reads the stored form. What is not as `writeProviderData` writes it is passed over. */
export function readProviderData(stored: JsonObject | undefined): ProviderData {
  if (stored === undefined || !is(shape, stored)) return {};
  const { reasoning = [], ...rest } = shape.read(stored, new Place());
  return { ...rest, reasoning: reasoning.flatMap(storedThought) };
}

/**
 * What can be sent back: signatures and encrypted thinking. An item's id alone is left out, because
 * OpenAI refuses a reference to a thought without the item that followed it; there the session's id
 * carries the thoughts.
 */
function replayable(metadata: unknown): (ProviderMetadata & JsonObject) | undefined {
  if (!isJsonObject(metadata)) return undefined;
  const kept = Object.entries(metadata).flatMap(([provider, values]) => {
    if (!isJsonObject(values)) return [];
    const useful = Object.entries(values).filter(
      ([key, value]) => key !== "itemId" && value !== null && value !== undefined,
    );
    return useful.length === 0 ? [] : [[provider, Object.fromEntries(useful)] as const];
  });
  const useful = Object.fromEntries(kept);
  // What cannot be stored must not fail a turn: the provider will do without.
  return kept.length === 0 || !isStorable(useful) ? undefined : useful;
}

/** What one request says, after it is known whether the provider can resume. */
interface SessionPlan {
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

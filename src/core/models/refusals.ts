// What models refuse, where there is no code for it: a table of what providers say.
import { APICallError } from "ai";

/** What a request has that a model does not take: more than its window, or a kind of part. */
type Refusal = "too_long" | "pictures" | "thinking" | "tools";

interface Words {
  readonly means: Refusal;
  readonly says: RegExp;
  /** The statuses with which it is said. @default any but 429: a limit of tokens in a minute is none of a request */
  readonly statuses?: readonly number[];
}

const tooLong = (says: RegExp): Words => ({ means: "too_long", says });

/**
 * The first that fits counts. A group is the window in tokens. Sources: the providers' own servers and API
 * references.
 */
const words: readonly Words[] = [
  tooLong(/maximum (?:context|prompt) length is (\d+)/i), // vLLM, OpenAI (chat), xAI, many that speak like it
  tooLong(/(\d+) maximum context length/i), // Mistral
  tooLong(/exceeds the maximum number of tokens allowed \((\d+)\)/i), // Gemini
  tooLong(/must be <= (\d+)\. Given: \d+ `inputs`/), // TGI
  tooLong(/"n_ctx"\s*:\s*(\d+)/), // llama.cpp: exceed_context_size_error
  tooLong(/exceeds? the available context size(?: \((\d+) tokens\))?/i), // llama.cpp
  tooLong(/prompt is too long(?:: \d+ tokens > (\d+) maximum)?/i), // Anthropic
  tooLong(/exceed context limit: \d+ \+ \d+ > (\d+)/i), // Anthropic, with max_tokens
  tooLong(/max input tokens: (\d+)/i), // Bedrock
  tooLong(/input is too long/i), // Bedrock
  tooLong(/context length of only (\d+) tokens/i), // LM Studio
  tooLong(/(?:greater|longer) than the context length/i), // LM Studio, Ollama
  tooLong(/exceed(?:s|ed)?\b.{0,20}\b(?:max|maximum )?context length/i), // Ollama
  tooLong(/context_length_exceeded|exceeds the context window/i), // OpenAI
  // llama.cpp answers 500 to a picture that its model cannot see, and asking again cannot help.
  {
    means: "pictures",
    says: /image input is not supported|\bimage_url\b|\bmmproj\b/i,
    statuses: [500],
  },
  // A refusal of a call without its thought speaks of tools, too.
  { means: "thinking", says: /reasoning|thinking|thought/i, statuses: [400, 422] },
  // Of services that cannot do it: wrong request, no such route, not allowed, not understood, not made.
  { means: "tools", says: /\btools?\b|function.?call/i, statuses: [400, 404, 405, 422, 501] },
];

/** What of a request an error says that the model does not take, and its window in tokens, if it states that. */
export function refusalOf(
  error: unknown,
): { readonly means: Refusal; readonly window?: number | undefined } | undefined {
  const status = APICallError.isInstance(error) ? error.statusCode : undefined;
  const text = textOf(error).slice(0, 10_000);
  for (const { means, says, statuses } of words) {
    const isSaidSo = statuses ? statuses.includes(status ?? 0) : status !== 429;
    const found = isSaidSo ? says.exec(text) : null;
    if (found !== null) return { means, window: Number(found[1]) || undefined };
  }
  return undefined;
}

function textOf(error: unknown): string {
  if (APICallError.isInstance(error)) {
    return `${error.message} ${JSON.stringify(error.data)} ${error.responseBody ?? ""}`;
  }
  if (error instanceof Error) return error.message;
  return typeof error === "string" ? error : (JSON.stringify(error) ?? "");
}

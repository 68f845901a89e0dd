// A request that is longer than the model's window: there is no common code for it, so this is a table of
// what each provider says.
import { APICallError } from "ai";

/** A group is the window in tokens. Sources: the providers' own servers and API references. */
const says: readonly RegExp[] = [
  /maximum (?:context|prompt) length is (\d+)/i, // vLLM, OpenAI (chat), xAI, many that speak like it
  /(\d+) maximum context length/i, // Mistral
  /exceeds the maximum number of tokens allowed \((\d+)\)/i, // Gemini
  /must be <= (\d+)\. Given: \d+ `inputs`/, // TGI
  /"n_ctx"\s*:\s*(\d+)/, // llama.cpp: exceed_context_size_error
  /exceeds? the available context size(?: \((\d+) tokens\))?/i, // llama.cpp
  /context_length_exceeded|exceeds the context window/i, // OpenAI
  /prompt is too long(?:: \d+ tokens > (\d+) maximum)?/i, // Anthropic
  /exceed context limit: \d+ \+ \d+ > (\d+)/i, // Anthropic, with max_tokens
  /input is too long/i, // Bedrock
  /max input tokens: (\d+)/i, // Bedrock
  /context length of only (\d+) tokens/i, // LM Studio
  /(?:greater|longer) than the context length/i, // LM Studio, Ollama
  /exceed(?:s|ed)?\b.{0,20}\b(?:max|maximum )?context length/i, // Ollama
];

/** Recognises that a request is longer than the model's window, which the error may state. */
export function contextSize(error: unknown): { readonly window: number | undefined } | undefined {
  // A limit of tokens in a minute is none of a request.
  if (APICallError.isInstance(error) && error.statusCode === 429) return undefined;
  const text = textOf(error).slice(0, 10_000);
  const found = says.map((each) => each.exec(text)).filter((match) => match !== null);
  if (found.length === 0) return undefined;
  const stated = found.flatMap(([, window]) => (window === undefined ? [] : [Number(window)]));
  return { window: stated.find((window) => window > 0) };
}

function textOf(error: unknown): string {
  if (APICallError.isInstance(error)) {
    return `${error.message} ${JSON.stringify(error.data)} ${error.responseBody ?? ""}`;
  }
  if (error instanceof Error) return error.message;
  return typeof error === "string" ? error : (JSON.stringify(error) ?? "");
}

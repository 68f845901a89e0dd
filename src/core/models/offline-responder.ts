import { setImmediate } from "node:timers/promises";
import type { ModelInput } from "../chat/message.ts";
import { withoutName } from "../chat/person-name.ts";
import type { Responder, ResponderEvent, ResponderRequest, Usage } from "./responder.ts";

interface OfflineResponderOptions {
  /** Whether what is said is still there when this program has ended. It says so. @default true */
  readonly isKept?: boolean;
}

/**
 * The responder for when no model is configured. It says that it is one, needs no key, no network and
 * no package, costs nothing, and streams its answer a word at a time: the same for the same conversation. Others
 * get their turn between two words, and an abort is heard there.
 */
export function offlineResponder({ isKept = true }: OfflineResponderOptions = {}): Responder {
  return {
    provider: "offline",
    model: "offline",
    window: undefined,
    respond: (request, signal) => respond(request, signal, isKept),
  };
}

const noUsage: Usage = { inputTokens: 0, outputTokens: 0, cachedInputTokens: 0, costUsd: 0 };

async function* respond(
  { messages }: ResponderRequest,
  signal: AbortSignal,
  isKept: boolean,
): AsyncGenerator<ResponderEvent, void> {
  for (const text of answerTo(messages, isKept).match(/\S+\s*/g) ?? []) {
    await setImmediate();
    if (signal.aborted) throw signal.reason;
    yield { type: "text", text };
  }
  if (signal.aborted) throw signal.reason;
  yield { type: "end", finish: "stop", usage: noUsage, model: "offline" };
}

const asksWhoIAm =
  /\b(?:who|what) are you\b|^\W*(?:help|set ?up|configure)\b|\bhow (?:do|can) i (?:set|configure|use|add)\b/i;
const asksWhatWasSaid =
  /\bwhat (?:did|have) i (?:just )?(?:say|said|tell|told|write|written|ask|asked)\b|\bdo you remember\b/i;

/** Answers so that a person sees what it is, that the conversation is kept, and how to get a model. */
function answerTo(messages: readonly ModelInput[], isKept: boolean): string {
  const heard = messages.filter((each) => each.role === "user");
  const [said = "", ...earlier] = heard.map(wordsOf).reverse();
  // An assistant that only called tools said nothing.
  const isFirst = !messages.some(({ role, content }) => role === "assistant" && content !== "");
  const isAsked = asksWhoIAm.test(said);
  const parts: string[] = [];
  const files = heard.at(-1)?.files ?? [];
  if (files.length > 0) {
    const names = files.map(({ name }) => name).join(", ");
    const it = files.length === 1 ? "it" : "them";
    parts.push(`I got ${names}, but I cannot look into ${it}: I am not a language model.`);
  }
  if (!isAsked)
    parts.push(
      asksWhatWasSaid.test(said)
        ? recall(earlier.find((words) => words !== ""))
        : echo(said, isKept),
    );
  if (isFirst || isAsked) parts.push(introduction(isKept));
  return parts.join(" ");
}

function introduction(isKept: boolean): string {
  const kept = isKept
    ? "What you say here is kept either way."
    : "Nothing that you say here is kept: it is gone when this program ends.";
  return (
    "I am Throughline's built-in responder, not a language model: none is configured. " +
    "To talk to one, start with `--model ollama/qwen3` for a local Ollama, or set OPENAI_API_KEY and " +
    `start with \`--model openai/\` and the name of a model. ${kept}`
  );
}

function recall(before: string | undefined): string {
  if (before === undefined) return "This is the first message of yours that I can see.";
  return `Before this you said: ${quote(before)}`;
}

function echo(said: string, isKept: boolean): string {
  const heard = said.trim() === "" ? "You sent no words." : `You said: ${quote(said)}`;
  return `${heard} It is ${isKept ? "" : "not "}kept.`;
}

/** The lines that name files in the content of a message, and the text of text files. */
const namedFiles = /(?:^|\n\n)\[(?:image|audio|video|file): [^\]\n]*\].*$/s;

/** The marked text that a history puts before what a person said. Its reader's module would take 5 ms to import. */
const markedText = /^[^\n]+\n[^\n]+\n(record-[0-9a-f]{16})\n.*?\n\1(?:\n\n|$)/s;

function wordsOf({ name, content, files = [] }: Extract<ModelInput, { role: "user" }>): string {
  const text = withoutName(name, content.replace(markedText, ""));
  return files.length === 0 ? text : text.replace(namedFiles, "");
}

/** One line of at most 200 characters, in quotes, ending as a sentence does. */
function quote(text: string): string {
  const line = text
    .slice(0, 1_000)
    .replace(/[\s\p{Cc}]+/gu, " ")
    .trim();
  const letters = [...line];
  const isCut = letters.length > 200 || text.length > 1_000;
  return isCut ? `"${letters.slice(0, 200).join("")}…".` : `"${line}".`;
}

import { isJsonObject } from "../json.ts";
import { attachmentsOf, tokensOf } from "./attachments.ts";
import type { Attachment, ModelInput, StoredMessage, ToolCall } from "./message.ts";
import { withName } from "./person-name.ts";
import { cutText } from "./printable.ts";
import { callOfResult } from "./record-ids.ts";

/** Which model a history is for. */
export interface ModelTarget {
  readonly provider: string;
  readonly model: string;
  /** The caller hands the files of user messages over itself: no note stands in for them. */
  readonly handsFilesOver?: boolean | undefined;
}

/** One user or assistant message as a model gets it, and the results of its calls behind it. */
export interface ModelRow {
  /** As it is stored. */
  readonly message: StoredMessage;
  readonly messages: readonly ModelInput[];
  /** Of these messages, estimated. */
  readonly tokens: number;
}

type UserInput = Extract<ModelInput, { role: "user" }>;
type ToolInput = Extract<ModelInput, { role: "tool" }>;

/** What stands in for the result of a call that has none: it was cut off, and may have had its effect. */
export const notCompleted = "not completed: its outcome is unknown";
const noText = "[empty message]";

/** Rows of shared messages that are the same for every model. */
const plainRows = new WeakMap<StoredMessage, ModelRow>();

/**
 * Rules 2, 4 and 8 for one message: its text, and what else this model may have of it.
 *
 * @returns `undefined` for an assistant message with neither text nor calls.
 */
export function modelRow(
  message: StoredMessage,
  calls: readonly PairedCall[],
  target: ModelTarget,
): ModelRow | undefined {
  const { attachments, provider_data } = message;
  const isPlain = calls.length === 0 && attachments === undefined && provider_data === undefined;
  const isShared = isPlain && Object.isFrozen(message);
  const known = isShared ? plainRows.get(message) : undefined;
  const row = known ?? freshRow(message, calls, target);
  if (isShared && row !== undefined) plainRows.set(message, row);
  return row;
}

function freshRow(
  message: StoredMessage,
  calls: readonly PairedCall[],
  target: ModelTarget,
): ModelRow | undefined {
  const { role, provider_data: data } = message;
  if (role === "user") return rowOf(message, [userInput(message, target.handsFilesOver === true)]);
  const content = textOf(message);
  if (calls.length === 0 && content === "") return undefined;
  const pairs = calls.length === 0 ? [] : modelPairs(message, calls, target);
  const toolCalls = pairs.map(({ call }) => call);
  const said = { role: "assistant", content } as const;
  const lead = toolCalls.length > 0 ? { ...said, toolCalls } : said;
  // Also of a message that was cut short or repaired: a model may refuse each one without its thought.
  const keeps = data !== undefined && sameMaker(data, target);
  // What is read is shared, and a model's own client may change what it is given.
  const first = keeps ? { ...lead, providerData: structuredClone(data) } : lead;
  return rowOf(message, [first, ...pairs.map(({ result }) => result)]);
}

/** Makes a user message for a model that gets its files, too, or notes in their place. */
export function userInput(message: StoredMessage, handsFilesOver = true): UserInput {
  const { name } = message;
  const files = handsFilesOver ? attachmentsOf(message) : [];
  const by = name === undefined ? {} : { name };
  if (files.length === 0) {
    return { role: "user", content: withName(name, textOf(message) || noText), ...by };
  }
  // What an import names without bytes is noted still.
  const attachments = (message.attachments ?? []).filter((file) => !files.includes(file));
  const content = withName(name, textOf({ ...message, attachments }));
  return { role: "user", content, ...by, files };
}

function textOf(message: StoredMessage): string {
  const text = message.content.toWellFormed();
  const blank = text.trim() === "";
  // A model that reads names of files among its own words writes them into the next answer.
  if (message.role === "assistant" && !blank) return text;
  const notes = attachmentNotes(message.attachments);
  if (notes === "") return blank ? "" : text;
  return blank ? notes : `${text}\n\n${notes}`;
}

function modelPairs(
  message: StoredMessage,
  calls: readonly PairedCall[],
  target: ModelTarget,
): readonly { readonly call: ToolCall; readonly result: ToolInput }[] {
  const ownIds = callIds(message, calls, target);
  return calls.map(({ name: called, arguments: given, result: stored }, index) => {
    const id = ownIds?.[index] ?? rewrittenId(message.seq, index);
    const name = ownIds === undefined ? legalName(called) : called;
    const content = stored === undefined ? notCompleted : resultText(stored);
    const result: ToolInput = { role: "tool", toolCallId: id, toolName: name, content };
    const isFailed = stored === undefined || stored.is_error === true;
    return {
      call: { id, type: "function", function: { name, arguments: given.toWellFormed() } },
      result: isFailed ? { ...result, isError: true } : result,
    };
  });
}

/** A result keeps its text to the byte, blank or not. */
function resultText(result: StoredMessage): string {
  return textOf(result) || result.content.toWellFormed();
}

const legalId = /^[a-zA-Z0-9_-]{1,64}$/;

/**
 * The ids that a message was stored with, for the model that made it. Every other model gets new
 * ones, and so does the maker when one of a message's ids is illegal or used twice.
 */
function callIds(
  message: StoredMessage,
  calls: readonly PairedCall[],
  target: ModelTarget,
): readonly string[] | undefined {
  const own = calls.map(({ id }) => id);
  const usable = own.every((id) => legalId.test(id)) && new Set(own).size === own.length;
  return usable && sameMaker(message.provider_data ?? message, target) ? own : undefined;
}

/**
 * Nine letters and digits, the strictest rule in the field (Mistral), made from the place of the
 * call in the log: the same in every view, and no two alike.
 */
function rewrittenId(seq: number, index: number): string {
  return `c${seq.toString(36).padStart(5, "0")}${index.toString(36).padStart(3, "0")}`;
}

/** Names in the form that every provider takes: a call to a name outside it is refused for good. */
export function legalName(name: string): string {
  return name.replace(/[^a-zA-Z0-9_-]/g, "_").slice(0, 64);
}

export function rowOf(message: StoredMessage, messages: readonly ModelInput[]): ModelRow {
  let tokens = 0;
  for (const each of messages) tokens += messageTokens(each);
  return { message, messages, tokens };
}

/** Whether two models may exchange reasoning items, signatures and call ids: they are the same. */
function sameMaker(
  a: { readonly provider?: unknown; readonly model?: unknown },
  b: { readonly provider: string; readonly model: string },
): boolean {
  return a.provider === b.provider && a.model === b.model;
}

// Also what is not seen but reorders or ends a line, and the brackets of the note itself.
const unsafe = /[\s\p{C}\u2028\u2029[\]]+/gu;

/**
 * What stands in for files that a model does not get: `[image: photo.jpg]`, one a line; `audio`,
 * `video` or `file` likewise. A name is shown on one line, without brackets, in 80 code points.
 */
export function attachmentNotes(
  attachments: readonly { readonly type?: unknown; readonly name?: unknown }[] = [],
): string {
  return attachments.map(({ type, name }) => `[${fileNote(type, name)}]`).join("\n");
}

/** One file without the brackets, and with `more` said of it: `image: photo.jpg`. */
export function fileNote(type: unknown, name: unknown, more = ""): string {
  return `${wordOf(type)}: ${nameOf(name)}${more}`;
}

function wordOf(type: unknown): string {
  const kind = typeof type === "string" ? /^(image|audio|video)\//i.exec(type)?.[1] : undefined;
  return kind?.toLowerCase() ?? "file";
}

function nameOf(name: unknown): string {
  const text = typeof name === "string" ? name.replace(unsafe, " ").trim() : "";
  return text === "" ? "unnamed" : cutText(text, 80);
}

/**
 * A text between two rows of backticks, longer than any inside, so that nothing in it can close the block:
 * the rule of Markdown's code fences (CommonMark 0.31, 4.5).
 *
 * @param info stands behind the first row.
 */
export function fenced(text: string, info = ""): string {
  const longest = Math.max(0, ...(text.match(/`+/g) ?? []).map((run) => run.length));
  const fence = "`".repeat(Math.max(3, longest + 1));
  return `${fence}${info}\n${text}\n${fence}`;
}

/** A call, with its result. */
export interface PairedCall {
  readonly id: string;
  readonly name: string;
  /** JSON text of an object, always. */
  readonly arguments: string;
  /** `undefined`: the call was never answered. */
  result: StoredMessage | undefined;
}

/**
 * The calls of each assistant message with their results. A result belongs to the call that its own
 * record names; where it names none, as in an import, to the nearest earlier call of its id that has
 * none yet, however many messages lie between. Results that belong to no
 * call, and second results, are in no pair.
 *
 * @param messages oldest first.
 */
export function pairToolCalls(
  messages: Iterable<StoredMessage>,
): ReadonlyMap<StoredMessage, readonly PairedCall[]> {
  const pairs = new Map<StoredMessage, readonly PairedCall[]>();
  // By call id, last one first: the newest message that used the id, for some providers count from
  // 0 in each turn.
  const open = new Map<string, PairedCall[]>();
  const ofTurns = new Map<string, PairedCall>();
  for (const message of messages) {
    if (message.role === "assistant") {
      const own = (message.tool_calls ?? []).map(({ id, function: { name, arguments: text } }) => {
        return { id, name, arguments: objectText(text), result: undefined } as PairedCall;
      });
      if (own[0] === undefined) continue;
      pairs.set(message, own);
      ofTurns.set(message.id, own[0]);
      for (const { id } of own) open.set(id, []);
      for (const call of own.toReversed()) open.get(call.id)?.push(call);
    } else if (message.role === "tool" && message.tool_call_id !== undefined) {
      const named = ofTurns.get(callOfResult(message) ?? "");
      const call = named ?? open.get(message.tool_call_id)?.pop();
      if (call !== undefined) call.result ??= message;
    }
  }
  return pairs;
}

/**
 * Arguments that every provider takes: the text of a JSON object. What is no such text (it was cut
 * short, or the model wrote something else) is kept inside one.
 */
export function objectText(text: string): string {
  if (text.trim() === "") return "{}";
  try {
    if (isJsonObject(JSON.parse(text))) return text;
  } catch {
    // Not JSON: it is kept as text below.
  }
  return JSON.stringify({ not_json: text });
}

/** What of a model's window the history may fill, in tokens. */
const historyBudgets = {
  /** Kept free of the window for the answer; of a small window at most half. */
  answerTokens: 4_096,
  /** Of what is left then. The rest is for persona, tools and what changes from turn to turn. */
  share: 0.75,
  /** For a model whose window is unknown. */
  unknownWindowTokens: 24_000,
} as const;

/**
 * The tokens that a history may take: `budgetTokens` where given, else (window - 4,096) * 0.75, of a
 * window below 8,192 window * 0.375, and 24,000 where it is unknown.
 */
export function historyBudget(
  window: number | undefined,
  budgetTokens: number | undefined,
): number {
  if (budgetTokens !== undefined) return budgetTokens;
  if (window === undefined) return historyBudgets.unknownWindowTokens;
  const { answerTokens, share } = historyBudgets;
  return Math.floor((window - Math.min(answerTokens, window / 2)) * share);
}

/** Estimates one message of so many bytes of UTF-8: a token for each 3 bytes, and at least 4. */
export function estimateTokens(bytes: number): number {
  return Math.max(4, Math.ceil(bytes / 3) + 4);
}

/** What of a message takes tokens. Files go beside its text. */
interface Counted {
  readonly content: string;
  readonly toolCalls?: unknown;
  readonly providerData?: unknown;
  readonly files?: readonly Attachment[] | undefined;
}

/** Estimates a message as a model gets it. */
export function messageTokens({ content, toolCalls, providerData, files = [] }: Counted): number {
  let bytes = Buffer.byteLength(content);
  if (toolCalls !== undefined) bytes += Buffer.byteLength(JSON.stringify(toolCalls));
  if (providerData !== undefined) bytes += Buffer.byteLength(JSON.stringify(providerData));
  return files.reduce((sum, file) => sum + 30 + tokensOf(file), estimateTokens(bytes));
}

/**
 * How many tokens a provider counts for each that is estimated, by the last request that it counted.
 * From 0.5, because some servers count only what they did not cut off, to 4.
 */
export function ratioOf(counted: number, estimated: number): number {
  const ratio = counted / estimated;
  return ratio > 0 && Number.isFinite(ratio) ? Math.min(4, Math.max(0.5, ratio)) : 1;
}

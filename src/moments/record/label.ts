import { invalid } from "../../core/errors.ts";
import { tooLarge } from "../../core/json.ts";
import { isUuidV7 } from "../package/package-name.ts";
import type { Annotator, Channel, Correction, Sentiment, Source } from "../package/record.ts";
import { maxNameLength, type NewMessage } from "./message-buffer.ts";

/** A reaction, as a request gives it. */
export interface MomentInput {
  readonly sentiment: Sentiment;
  /** What was liked or disliked: 1 to 2,000 characters. */
  readonly what: string;
  /** What showed it, such as `head scratch`: up to 500 characters. @default "" */
  readonly trigger?: string | undefined;
  readonly source: Source;
  /** @default "other" */
  readonly channel?: Channel | undefined;
  /** -1 to 1, its sign that of the sentiment. @default 1 or -1 */
  readonly score?: number | undefined;
  readonly correction?: Correction | undefined;
  /** @default by the source: a skill with a trigger relays a person, without one the model judged */
  readonly annotator?: Annotator | undefined;
  /** @default the chat of the newest message */
  readonly chatId?: string | undefined;
  readonly provider?: string | undefined;
  readonly model?: string | undefined;
  /** The turn in which it was expressed. A skill names the turn in which it was called. */
  readonly turnId?: string | undefined;
  /** The message in which it was expressed. */
  readonly messageId?: string | undefined;
  /** A message of the turn that it is about. */
  readonly targetMessageId?: string | undefined;
  /** Where the target is older than the buffers: up to 50 messages, ending with its turn. */
  readonly transcript?: readonly TranscriptMessage[] | undefined;
  /** Goes on for so long after the reaction: 0 to 30,000. @default 0 */
  readonly postRollMs?: number | undefined;
  /** A UUIDv7 of the caller's: the same one again gets the first receipt. */
  readonly uuid?: string | undefined;
  /** 1 to 255 characters: the same one again gets the first receipt. */
  readonly idempotencyKey?: string | undefined;
  /** The id of a package that this one corrects. */
  readonly supersedes?: string | undefined;
  readonly trace?: { readonly trace_id: string; readonly span_id: string } | undefined;
  /** The words that fired it. */
  readonly matched?: readonly string[] | undefined;
  /** Of a chat that leaves nothing behind: refused. */
  readonly ephemeral?: boolean | undefined;
}

export interface TranscriptMessage extends NewMessage {
  readonly id: string;
  /** Milliseconds since 1970. */
  readonly atMs?: number | undefined;
}

/** What a request may say, each within its bounds, defaults filled in. */
export interface Label {
  readonly sentiment: Sentiment;
  readonly what: string;
  readonly trigger: string;
  readonly source: Source;
  readonly channel: Channel;
  readonly score: number;
  readonly correction: Correction | null;
  readonly annotator: Annotator;
  readonly postRollMs: number;
}

const sources: readonly unknown[] = ["skill", "http", "cli", "auto"];
const channels: readonly unknown[] = ["touch", "speech", "text", "button", "other"];
const kinds: readonly unknown[] = ["human", "model", "code"];

/** @throws ThroughlineError `THROUGHLINE_INVALID`, `THROUGHLINE_TOO_LARGE`: nothing was recorded. */
export function checkLabel(input: MomentInput): Label {
  const { sentiment, what, trigger = "", source, channel = "other", postRollMs = 0 } = input;
  if (sentiment !== "positive" && sentiment !== "negative") {
    throw invalid("sentiment must be positive or negative");
  }
  checkText("what", what, 1, 2_000);
  checkText("trigger", trigger, 0, 500);
  if (!sources.includes(source)) throw invalid("source must be skill, http, cli or auto");
  if (!channels.includes(channel)) {
    throw invalid("channel must be touch, speech, text, button or other");
  }
  if (!(Number.isFinite(postRollMs) && postRollMs >= 0 && postRollMs <= 30_000)) {
    throw invalid("postRollMs must be a number from 0 to 30,000");
  }
  checkNames(input);
  const score = input.score ?? (sentiment === "positive" ? 1 : -1);
  checkScore(score, sentiment);
  const correction = checkCorrection(input.correction);
  const annotator = checkAnnotator(input.annotator) ?? defaultAnnotator(source, trigger);
  return { sentiment, what, trigger, source, channel, score, correction, annotator, postRollMs };
}

function checkScore(score: unknown, sentiment: Sentiment): void {
  const signed = typeof score === "number" ? score * (sentiment === "positive" ? 1 : -1) : 0;
  if (!(signed > 0 && signed <= 1)) {
    throw invalid("score must be from -1 to 1, above 0 if positive and below 0 if negative");
  }
}

function checkCorrection(correction: Correction | undefined): Correction | null {
  if (correction === undefined) return null;
  const { text, kind } = correction;
  checkText("correction.text", text, 1, 8_000);
  if (kind !== "replacement" && kind !== "note") {
    throw invalid("correction.kind must be replacement or note");
  }
  return { text, kind };
}

function checkAnnotator(annotator: Annotator | undefined): Annotator | undefined {
  if (annotator === undefined) return undefined;
  const { kind, id } = annotator;
  if (!kinds.includes(kind)) throw invalid("annotator.kind must be human, model or code");
  if (id !== null) checkText("annotator.id", id, 1, 200);
  return { kind, id };
}

function defaultAnnotator(source: Source, trigger: string): Annotator {
  if (source === "auto") return { kind: "code", id: null };
  return { kind: source === "skill" && trigger === "" ? "model" : "human", id: null };
}

function checkNames(input: MomentInput): void {
  const { chatId, provider, model, turnId, messageId, targetMessageId } = input;
  const names = { chatId, provider, model, turnId, messageId, targetMessageId };
  for (const [name, value] of Object.entries(names)) {
    if (value !== undefined) checkText(name, value, 1, maxNameLength);
  }
  const { uuid, idempotencyKey, supersedes, trace, matched = [] } = input;
  if (uuid !== undefined && !isUuidV7(uuid)) throw invalid("uuid must be a UUIDv7 in lower case");
  if (idempotencyKey !== undefined) checkText("idempotencyKey", idempotencyKey, 1, 255);
  if (supersedes !== undefined && !/^[0-9a-f]{12}$/.test(supersedes)) {
    throw invalid("supersedes must be the id of a package: 12 hexadecimal digits");
  }
  if (trace !== undefined) {
    const isTrace = /^[0-9a-f]{32}$/.test(trace.trace_id) && /^[0-9a-f]{16}$/.test(trace.span_id);
    if (!isTrace) throw invalid("trace must have 32 and 16 hexadecimal digits");
  }
  if (!Array.isArray(matched) || matched.length > 100)
    throw invalid("matched must be a short list");
  for (const word of matched) checkText("matched", word, 1, 500);
}

function checkText(name: string, value: unknown, min: number, max: number): void {
  if (typeof value !== "string") throw invalid(`${name} must be a string`);
  if (value.length > max * 2) throw tooLarge(`${name} is longer than ${max} characters`);
  const count = value.length > max ? [...value].length : value.length;
  if (count > max) throw tooLarge(`${name} is longer than ${max} characters`);
  if (count < min) throw invalid(`${name} must have at least ${min} characters`);
}

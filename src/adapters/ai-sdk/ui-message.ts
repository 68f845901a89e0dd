// The messages of the AI SDK's pages, and what may change in one.
import { isDeepStrictEqual } from "node:util";
import { isJsonObject, type JsonObject } from "../../core/json.ts";

/** A message as `useChat` shows it. Its parts are those of the SDK, whose types need not be installed. */
export interface UIChatMessage {
  id: string;
  role: "system" | "user" | "assistant";
  metadata?: unknown;
  // biome-ignore lint/suspicious/noExplicitAny: the SDK's parts, whose types need not be installed.
  parts: any[];
}

/** One part of a message, as JSON. */
export interface Part extends JsonObject {
  readonly type: string;
}

/** The same message for our own code. */
export interface Message extends JsonObject {
  readonly id: string;
  readonly role: "user" | "assistant";
  readonly metadata?: JsonObject[string];
  readonly parts: readonly Part[];
}

/** A part that calls a tool. */
export interface ToolPart extends Part {
  readonly toolCallId: string;
  readonly state: string;
}

export function isToolPart(part: Part): part is ToolPart {
  const isTool = part.type === "dynamic-tool" || part.type.startsWith("tool-");
  return isTool && typeof part["toolCallId"] === "string" && typeof part["state"] === "string";
}

export function toolName(part: ToolPart): string {
  return part.type === "dynamic-tool" ? String(part["toolName"]) : part.type.slice("tool-".length);
}

const finals = ["output-available", "output-error", "output-denied"];

/** Whether its result is there, or will never be. */
export const isFinal = ({ state, ...part }: ToolPart) =>
  finals.includes(state) && part["preliminary"] !== true;

/** Whether it waits for the page: to approve a call, or to run its own tool. */
export function isForPage(part: Part): boolean {
  if (!isToolPart(part)) return false;
  const isOfPage = part.state === "input-available" && part["providerExecuted"] !== true;
  return isOfPage || part.state === "approval-requested";
}

/** What the text parts say, one after the other. */
export function textOf(parts: readonly Part[]): string {
  return parts.map((part) => (part.type === "text" ? String(part["text"]) : "")).join("");
}

/** The parts of a message that says nothing but a text. */
export function plainParts(role: "user" | "assistant", text: string): readonly Part[] {
  if (role === "user") return [{ type: "text", text }];
  return [{ type: "step-start" }, { type: "text", text, state: "done" }];
}

/** The message as it goes over the wire: what is `undefined` is left out. */
export function asJson(message: unknown): Message {
  return JSON.parse(JSON.stringify(message)) as Message;
}

/** A message that ended, however it did: none of its texts is still being written. */
export function ended(message: Message): Message {
  const parts = message.parts.map((part) => {
    const isText = part.type === "text" || part.type === "reasoning";
    return isText && part["state"] === "streaming" ? { ...part, state: "done" } : part;
  });
  return { ...message, parts };
}

/**
 * What a page may change of an answer: it answers a question for approval, or gives the result of a tool that
 * runs in the page. Everything else stays as it is stored.
 */
export function withAnswers(stored: Message, page: Message): Message {
  const given = new Map(page.parts.filter(isToolPart).map((part) => [part.toolCallId, part]));
  const parts = stored.parts.map((part) => {
    if (!isToolPart(part)) return part;
    const its = given.get(part.toolCallId);
    return its === undefined ? part : answered(part, its);
  });
  return isDeepStrictEqual(parts, stored.parts) ? stored : { ...stored, parts };
}

function answered(stored: ToolPart, page: ToolPart): ToolPart {
  const { approval } = page;
  const asked = stored["approval"];
  if (stored.state === "approval-requested" && isJsonObject(approval) && isJsonObject(asked)) {
    const { approved, reason } = approval;
    if (typeof approved !== "boolean" || page.state === "approval-requested") return stored;
    const answer = reason === undefined ? { approved } : { approved, reason };
    return { ...stored, state: "approval-responded", approval: { ...asked, ...answer } };
  }
  if (stored.state !== "input-available" || !isForPage(stored)) return stored;
  const { state, output, errorText } = page;
  if (state === "output-available" && output !== undefined) return { ...stored, state, output };
  return state === "output-error" && typeof errorText === "string"
    ? { ...stored, state, errorText }
    : stored;
}

/**
 * A message for a model that is told of it later: a call that never got a result says so. Providers refuse a
 * call without one.
 */
export function withResults(message: Message): Message {
  const parts = message.parts.flatMap((part): Part[] => {
    if (!isToolPart(part) || isFinal(part) || part["providerExecuted"] === true) return [part];
    if (part.state === "input-streaming") return [];
    const { approval: _, output: __, preliminary: ___, ...call } = part;
    return [{ ...call, type: part.type, state: "output-error", errorText: noResult }];
  });
  return { ...message, parts };
}

export const noResult = "No result: the turn ended before there was one.";

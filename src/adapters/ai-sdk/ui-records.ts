// How a UI message lies in a chat's log. A record never changes, but a UI message does: it grows step by step,
// and its calls get results. So each record holds the parts from a place on, and replaces what was there. Its
// text and its calls are those of our own messages, and each result is a message too: any model can continue.
import { isDeepStrictEqual } from "node:util";
import type { Chats } from "../../core/chat/chats.ts";
import { exactOf, keepExact } from "../../core/chat/exact.ts";
import type { StoredMessage } from "../../core/chat/message.ts";
import type { MessageInput } from "../../core/chat/message-input.ts";
import { checkMessageId } from "../../core/chat/record-ids.ts";
import { unless } from "../../core/errors.ts";
import { fitText, isJsonObject, type JsonObject } from "../../core/json.ts";
import type { OpenInput, OpenTurn } from "../../core/turns/open-turn.ts";
import { checkTurnId } from "../../core/turns/turn.ts";
import {
  isFinal,
  isToolPart,
  type Message,
  type Part,
  plainParts,
  type ToolPart,
  textOf,
  toolName,
} from "./ui-message.ts";

/** The name under which a message of a chat has what the AI SDK shows of it. */
const framework = "ai-sdk";

/** What a model gets of one call or result, in UTF-16 code units. The UI message has all of it. */
const mostUnits = 32 * 1024;

/** What a record holds of a text, in bytes of JSON: its calls stand beside it. */
const maxTextBytes = 512 * 1024;

/** The id of the record number `n` of a UI message, from 1. */
export const recordId = (id: string, n: number) => (n === 1 ? id : `${id}~${n}`);

/** What a record says of the UI message that it belongs to. */
export interface Piece {
  /** The id of the UI message. */
  readonly id: string;
  /** The place of its first part. */
  readonly from: number;
  /** Absent: role and text give them back. */
  readonly parts: readonly Part[] | undefined;
  readonly metadata: JsonObject[string] | undefined;
}

/** The UI message that a record is a part of. */
export function idOf({ id, exact }: StoredMessage): string {
  const named = exact?.["framework"] === framework ? exact["ui_message"] : undefined;
  return typeof named === "string" ? named : id;
}

/** Whether a record was written for a UI message. */
export const isPiece = ({ exact }: StoredMessage) => exact?.["framework"] === framework;

/** The parts of a person's message have the names of files in their places: see `filesInPlace`. */
export async function readPiece(log: Chats, chatId: string, record: StoredMessage): Promise<Piece> {
  const { exact } = record;
  const id = idOf(record);
  if (exact === undefined || !isPiece(record)) {
    return { id, from: 0, parts: undefined, metadata: undefined };
  }
  const from = typeof exact["from"] === "number" ? exact["from"] : 0;
  const hasValue = ["value", "text", "parts"].some((name) => exact[name] !== undefined);
  const value = hasValue
    ? await exactOf(log, chatId, record, record.role !== "user").catch(unlessDamaged)
    : undefined;
  const { parts, metadata } = isJsonObject(value) ? value : {};
  return { id, from, parts: Array.isArray(parts) ? (parts as Part[]) : undefined, metadata };
}

/** Of a message whose parts are damaged its text is left. */
const unlessDamaged = unless("THROUGHLINE_CORRUPT");

/** The fields of a record that give back its piece, once what is too long for it is stored. */
async function exactFields(
  log: Chats,
  chatId: string,
  of: { readonly record: string; readonly turn?: string } & Piece,
): Promise<Partial<Awaited<ReturnType<typeof keepExact>>>> {
  const { record, turn, id, from, parts, metadata } = of;
  const value = metadata === undefined ? { parts } : { parts, metadata };
  const isPlain = parts === undefined && metadata === undefined;
  const kept = isPlain ? undefined : await keepExact(log, chatId, record, value, turn);
  return { ...kept, exact: { ...kept?.exact, framework, ui_message: id, from } };
}

/** What is stored of a person's message. */
export async function userInput(
  log: Chats,
  chatId: string,
  { id, metadata, parts }: Message,
  record: string,
): Promise<OpenInput & { readonly content: string }> {
  const content = textOf(parts);
  const isPlain = isDeepStrictEqual(parts, plainParts("user", content));
  if (isPlain && metadata === undefined && record === id) return { id, content };
  checkMessageId(record);
  checkTurnId(record);
  const piece = { record, id, from: 0, parts: isPlain ? undefined : parts, metadata };
  return { id: record, content, ...(await exactFields(log, chatId, piece)) };
}

/** A record that is to be stored. */
interface Draft {
  readonly message: MessageInput & { readonly id: string };
  /** Absent: the message is all that there is to it. */
  readonly piece?: Piece;
}

/** What the log has of an assistant's UI message, and what is to be added to it. */
export class UiRecords {
  readonly id: string;
  /** How many records it has. */
  #count = 0;
  /** Made to be stored, and maybe not stored yet. */
  #drafts: readonly Draft[] = [];
  #parts: readonly Part[] = [];
  #metadata: JsonObject[string] | undefined;
  readonly #called = new Set<string>();
  readonly #answered = new Set<string>();

  constructor(id: string) {
    this.id = id;
  }

  get isEmpty(): boolean {
    return this.#count === 0;
  }

  get message(): Message {
    const { id } = this;
    const said = { id, role: "assistant", parts: this.#parts } as const;
    return this.#metadata === undefined ? said : { ...said, metadata: this.#metadata };
  }

  /** Takes in one more record, as it was read. */
  read(record: StoredMessage, { from, parts, metadata }: Piece): void {
    this.#count = Math.max(this.#count, numberOf(record.id, this.id));
    if (record.role === "tool") {
      this.#answered.add(record.tool_call_id ?? "");
      return;
    }
    for (const { id } of record.tool_calls ?? []) this.#called.add(id);
    const own = parts ?? (record.hidden ? [] : plainParts("assistant", record.content));
    this.#parts = [...this.#parts.slice(0, from), ...own];
    this.#metadata = metadata ?? this.#metadata;
  }

  /** What is to be stored, without its exact forms. */
  get unstored(): readonly MessageInput[] {
    return this.#drafts.map(({ message }) => message);
  }

  /** The same as it is stored, once what is too long for a record is stored. */
  async inputs(log: Chats, chatId: string, turn: string): Promise<readonly MessageInput[]> {
    const inputs: MessageInput[] = [];
    for (const { message, piece } of this.#drafts) {
      const of = piece && { record: message.id, turn, ...piece };
      inputs.push({ ...message, ...(of && (await exactFields(log, chatId, of))) });
    }
    return inputs;
  }

  /** Stores it, in one append. */
  async keep(log: Chats, chatId: string, turn: OpenTurn): Promise<void> {
    const inputs = await this.inputs(log, chatId, turn.user.id);
    if (inputs.length > 0) await turn.keep(inputs);
    this.#drafts = [];
  }

  /** Notes what has to be stored so that the log has the message as it is now. */
  next(message: Message): void {
    const { parts, metadata } = message;
    const before = this.#parts;
    const changed = parts.findIndex((part, index) => !isDeepStrictEqual(part, before[index]));
    const from = changed < 0 ? parts.length : changed;
    const isNewMetadata = !isDeepStrictEqual(metadata, this.#metadata);
    const isSame = from === parts.length && parts.length === before.length && !isNewMetadata;
    if (isSame) return;
    this.#parts = parts;
    this.#metadata = metadata;
    const drafts: Draft[] = [];
    for (const { start, end } of stepsIn(parts, from)) {
      const step = parts.slice(start, end);
      const own = isNewMetadata && drafts.length === 0 ? metadata : undefined;
      // A text that was there before is not said again.
      const text = textOf(parts.slice(Math.max(start, before.length), end));
      drafts.push(this.#said(step, { from: start, text, metadata: own }));
      drafts.push(...this.#results(step));
    }
    this.#drafts = [...this.#drafts, ...drafts];
  }

  /** A record that adds nothing: the turn ended with what was stored before. */
  end(): void {
    const last = this.#said([], { from: this.#parts.length, text: "", metadata: undefined });
    this.#drafts = [...this.#drafts, last];
  }

  #said(
    parts: readonly Part[],
    of: { from: number; text: string; metadata: JsonObject[string] | undefined },
  ): Draft {
    const { from, metadata } = of;
    // A record holds no longer one. The parts have all of it.
    const text = fitText(of.text, maxTextBytes);
    const isCall = (part: Part) =>
      isToolPart(part) && part.state !== "input-streaming" && !this.#called.has(part.toolCallId);
    const calls = parts.filter((part): part is ToolPart => isCall(part));
    for (const { toolCallId } of calls) this.#called.add(toolCallId);
    const id = this.#newId();
    const saysNothing = text === "" && calls.length === 0;
    const isHidden = saysNothing && (from > 0 || parts.length === 0);
    const message = {
      id,
      role: "assistant",
      content: text,
      tool_calls: calls.length === 0 ? undefined : calls.map(callOf),
      hidden: isHidden || undefined,
    } as const;
    const usual = isHidden ? [] : plainParts("assistant", text);
    const isUsual = isDeepStrictEqual(parts, usual);
    if (isUsual && metadata === undefined && id === this.id && from === 0) return { message };
    return { message, piece: { id: this.id, from, parts: isUsual ? undefined : parts, metadata } };
  }

  #results(parts: readonly Part[]): readonly Draft[] {
    const done = parts.filter(isToolPart).filter((part) => isFinal(part));
    const own = done.filter(({ toolCallId }) => !this.#answered.has(toolCallId));
    return own.map((part) => {
      this.#answered.add(part.toolCallId);
      const { output, errorText = "The call was refused.", state } = part;
      const result = typeof output === "string" ? output : JSON.stringify(output ?? null);
      const isError = state !== "output-available";
      const message = {
        id: this.#newId(),
        role: "tool",
        content: bounded(isError ? String(errorText) : result),
        tool_call_id: part.toolCallId,
        is_error: isError || undefined,
      } as const;
      return { message, piece: { id: this.id, from: 0, parts: undefined, metadata: undefined } };
    });
  }

  #newId(): string {
    this.#count++;
    return recordId(this.id, this.#count);
  }
}

/** Where the steps lie that begin at or after a place; the first begins there in any case. */
function stepsIn(parts: readonly Part[], from: number): readonly { start: number; end: number }[] {
  const starts = [from];
  for (let at = from + 1; at < parts.length; at++) {
    if (parts[at]?.type === "step-start") starts.push(at);
  }
  return starts.map((start, index) => ({ start, end: starts[index + 1] ?? parts.length }));
}

function callOf(part: ToolPart) {
  const input = part["input"] ?? {};
  const text = JSON.stringify(isJsonObject(input) ? input : { input });
  const shown = text.length > mostUnits ? JSON.stringify({ cut_short: bounded(text) }) : text;
  const called = { name: toolName(part), arguments: shown };
  return { id: part.toolCallId, type: "function", function: called } as const;
}

function bounded(text: string): string {
  if (text.length <= mostUnits) return text;
  return `${text.slice(0, mostUnits)}\n[${text.length - mostUnits} more characters]`;
}

function numberOf(record: string, id: string): number {
  return record === id ? 1 : Number(record.slice(id.length + 1)) || 1;
}

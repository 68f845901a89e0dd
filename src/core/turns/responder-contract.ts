// The contract of a responder: what breaks it is a bug of the application's own.
import { periodLimits } from "../chat/period.ts";
import { checkJson, isJsonObject } from "../json.ts";
import { isCode } from "../models/provider-words.ts";
import { ResponderError, type ResponderEvent } from "../models/responder.ts";
import { checkKey } from "../storage/key.ts";

/** A responder does what its type forbids. The message goes on from "its responder", and is safe to show. */
export class BrokenContract extends Error {
  override readonly name = "BrokenContract";
}

/** @throws BrokenContract: what `respond` returned is no stream. */
export function eventsOf(stream: unknown): AsyncIterable<ResponderEvent> {
  const iterator: unknown = Object(stream)[Symbol.asyncIterator];
  if (typeof iterator === "function") return stream as AsyncIterable<ResponderEvent>;
  if (stream instanceof Promise) stream.catch(() => undefined); // it must not end the process
  const what = stream instanceof Promise ? "promise" : typeof stream;
  throw new BrokenContract(`returns a ${what}: it must be an async generator, \`async *respond\``);
}

const types = "text, reasoning, tool-call, tool-result, provider-session, provider-data, end";

/** Past it the counts of two runs could not be added. */
const maxTokens = 2 ** 50;

/** @throws BrokenContract: this is no event, or holds what cannot be stored. */
export function checkEvent(given: unknown): asserts given is ResponderEvent {
  if (typeof given === "string") {
    throw new BrokenContract('yields a string: yield { type: "text", text }');
  }
  const event = Object(given) as ResponderEvent;
  let says = "";
  try {
    if (event.type === "text" || event.type === "reasoning") {
      if (typeof event.text !== "string") says = "text must be text";
    } else if (event.type === "tool-call") {
      const { id, function: called } = Object(event.call);
      const { name, arguments: written } = Object(called);
      const isCall = id && name && [id, name, written].every((each) => typeof each === "string");
      if (!isCall) says = "call must be { id, function: { name, arguments } }, of texts";
    } else if (event.type === "tool-result") {
      const { toolCallId, content } = event;
      const isText = typeof toolCallId === "string" && typeof content === "string";
      if (!isText) says = "toolCallId and content must be text";
    } else if (event.type === "provider-session") {
      checkKey(event.id, "id", periodLimits.sessionIdBytes);
    } else if (event.type === "provider-data") {
      checkJson(event.data, "data");
      if (!isJsonObject(event.data)) says = "data must be an object";
    } else if (event.type === "end") {
      if (event.model !== undefined) checkKey(event.model, "model", periodLimits.nameBytes);
      if (typeof event.finish !== "string") says = "finish must be text";
      else if (!isUsage(event.usage)) says = "usage must be tokens and dollars, from 0";
    } else says = `its type must be one of ${types}`;
  } catch (error) {
    says = (error as Error).message;
  }
  if (says === "") return;
  const which = event.type === undefined ? "" : ` "${event.type}"`;
  throw new BrokenContract(`yields an event${which} of a wrong form: ${says}`);
}

function isUsage(usage: unknown): boolean {
  if (!isJsonObject(usage)) return false;
  const { inputTokens, outputTokens, cachedInputTokens, costUsd = 0 } = usage;
  for (const tokens of [inputTokens, outputTokens, cachedInputTokens]) {
    const isCount = Number.isInteger(tokens) && Number(tokens) >= 0 && Number(tokens) <= maxTokens;
    if (tokens !== undefined && !isCount) return false;
  }
  return typeof costUsd === "number" && costUsd >= 0 && costUsd <= periodLimits.costUsd;
}

/** Says why an answer broke off, in words that are safe to show. @param name `provider/model`. */
export function reasonOf(error: unknown, name: string): string {
  if (error === undefined) return "The model's answer broke off.";
  if (error instanceof ResponderError) return error.message;
  if (error instanceof BrokenContract) return `${name} broke off: its responder ${error.message}`;
  const what = error instanceof Error && isCode(error.name) ? error.name : "an exception";
  return `${name} broke off: its responder threw ${what}; see the log`;
}

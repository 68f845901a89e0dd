// The contract of a responder: what breaks it is a bug of the application's own.
import { periodLimits } from "../chat/period.ts";
import { checkJson, isJsonObject } from "../json.ts";
import { isCode } from "../models/provider-words.ts";
import { ResponderError, type ResponderEvent, type Usage } from "../models/responder.ts";
import { aName, aText, type Check, wrongIn } from "../options.ts";
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

const isName = (value: unknown, maxBytes: number) =>
  passes(() => checkKey(value, "value", maxBytes));
const isText = (value: unknown) => typeof value === "string";

const aCall: Check = [
  '{ id, type: "function", function: { name, arguments } }, of texts',
  (call) => {
    if (!isJsonObject(call) || !isJsonObject(call["function"])) return false;
    const { name, arguments: written } = call["function"];
    return Boolean(call["id"] && name) && [call["id"], name, written].every(isText);
  },
];

/** Past it the counts of two runs could not be added. */
const maxTokens = 2 ** 50;

const aUsage: Check = [
  "whole numbers of tokens and a cost in dollars, from 0",
  (usage) => {
    if (typeof usage !== "object" || usage === null) return false;
    const { inputTokens, outputTokens, cachedInputTokens, costUsd = 0 } = usage as Usage;
    const isCost = typeof costUsd === "number" && costUsd >= 0 && costUsd <= periodLimits.costUsd;
    const isCount = (tokens = 0) => Number.isInteger(tokens) && tokens >= 0 && tokens <= maxTokens;
    return isCost && [inputTokens, outputTokens, cachedInputTokens].every(isCount);
  },
];

const { nameBytes, sessionIdBytes } = periodLimits;
const checks: Readonly<Record<string, Readonly<Record<string, Check>>>> = {
  text: { text: aText },
  reasoning: { text: aText },
  "tool-call": { call: aCall },
  "tool-result": { toolCallId: aText, content: aText },
  "provider-session": {
    id: [`a text of at most ${sessionIdBytes} bytes`, (id) => isName(id, sessionIdBytes)],
  },
  "provider-data": {
    data: [
      "an object of JSON",
      (data) => isJsonObject(data) && passes(() => checkJson(data, "data")),
    ],
  },
  end: {
    finish: aName,
    usage: aUsage,
    model: [
      `a text of at most ${nameBytes} bytes`,
      (model) => model === undefined || isName(model, nameBytes),
    ],
  },
};

function passes(check: () => void): boolean {
  try {
    check();
    return true;
  } catch {
    return false; // the caller says what it must be
  }
}

/** @throws BrokenContract: this is no event. */
export function checkEvent(event: unknown): asserts event is ResponderEvent {
  if (typeof event === "string") {
    throw new BrokenContract('yields a string: yield { type: "text", text }');
  }
  const { type } = Object(event) as { readonly type?: unknown };
  const name = typeof type === "string" && Object.hasOwn(checks, type) ? type : undefined;
  const wanted = name === undefined ? undefined : checks[name];
  const types = `its type must be one of ${Object.keys(checks).join(", ")}`;
  const problem = wanted === undefined ? types : wrongIn(event as object, wanted);
  if (problem === undefined) return;
  throw new BrokenContract(
    `yields an event${name ? ` "${name}"` : ""} of a wrong form: ${problem}`,
  );
}

/** Says why an answer broke off, in words that are safe to show. @param name `provider/model`. */
export function reasonOf(error: unknown, name: string): string {
  if (error === undefined) return "The model's answer broke off.";
  if (error instanceof ResponderError) return error.message;
  if (error instanceof BrokenContract) return `${name} broke off: its responder ${error.message}`;
  const what = error instanceof Error && isCode(error.name) ? error.name : "an exception";
  return `${name} broke off: its responder threw ${what}; see the log`;
}

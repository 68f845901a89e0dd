// The contract of a responder: what breaks it is a bug of the application's own.
import { isJsonObject } from "../json.ts";
import { isCode } from "../models/provider-words.ts";
import { ResponderError, type ResponderEvent } from "../models/responder.ts";
import { aName, anObject, aText, type Check, wrongIn } from "../options.ts";

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

const aCall: Check = [
  "{ id, type, function: { name, arguments } }",
  (call) => isJsonObject(call) && isJsonObject(call["function"]),
];

const checks: Readonly<Record<string, Readonly<Record<string, Check>>>> = {
  text: { text: aText },
  reasoning: { text: aText },
  "tool-call": { call: aCall },
  "tool-result": { toolCallId: aText, content: aText },
  "provider-session": { id: aText },
  "provider-data": { data: anObject },
  end: { finish: aName, usage: anObject },
};

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

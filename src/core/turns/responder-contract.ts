// The contract of a responder: what breaks it is a bug of the application's own.
import { toolCall } from "../chat/message-input.ts";
import { key, name, periodLimits } from "../chat/period.ts";
import { isJsonObject } from "../json.ts";
import { isCode } from "../models/provider-words.ts";
import { ResponderError, type ResponderEvent, type Usage } from "../models/responder.ts";
import {
  fitting,
  is,
  isStorable,
  number,
  object,
  optional,
  own,
  Place,
  type Shape,
  text,
  whole,
} from "../shape.ts";

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

const count = optional(whole(0, 2 ** 50)); // the sum of two is exact
const usage = object<Usage>(
  {
    inputTokens: count,
    outputTokens: count,
    cachedInputTokens: count,
    costUsd: optional(number(0, periodLimits.costUsd)),
  },
  "left out",
);
/** Tells whether this can be added up and stored. */
export function isUsage(value: unknown): value is Usage {
  return isJsonObject(value) && is(usage, value);
}

const isData = (value: unknown) => isJsonObject(value) && isStorable(value);

const said = object({ text: text() }, "left out");
const forms: Readonly<Record<ResponderEvent["type"], Shape<object>>> = {
  text: said,
  reasoning: said,
  "tool-call": object({ call: toolCall }, "left out"),
  "tool-result": object({ toolCallId: text(), content: text() }, "left out"),
  "provider-session": object({ id: key(periodLimits.sessionIdBytes) }, "left out"),
  "provider-data": object({ data: fitting(isData, "must be an object of JSON", {}) }, "left out"),
  end: object(
    {
      finish: text(),
      usage: fitting(isUsage, "must be tokens and dollars, from 0", {}),
      model: optional(name),
    },
    "left out",
  ),
};

/** @throws BrokenContract: this is no event, or holds what cannot be stored. */
export function checkEvent(given: unknown): asserts given is ResponderEvent {
  if (typeof given === "string") {
    throw new BrokenContract('yields a string: yield { type: "text", text }');
  }
  const { type }: { readonly type?: ResponderEvent["type"] } = Object(given);
  const form = own(forms, String(type));
  const at = new Place();
  form?.read(given, at);
  const [problem] = at.problems;
  if (form !== undefined && problem === undefined) return;
  const says = problem
    ? `${problem.path.join(".")} ${problem.says}`
    : `its type must be one of ${Object.keys(forms).join(", ")}`;
  const which = type === undefined ? "" : ` "${type}"`;
  throw new BrokenContract(`yields an event${which} of a wrong form: ${says}`);
}

/** Says why an answer broke off, in words that are safe to show. @param name `provider/model`. */
export function reasonOf(error: unknown, name: string): string {
  if (error === undefined) return "The model's answer broke off.";
  if (error instanceof ResponderError) return error.message;
  if (error instanceof BrokenContract) return `${name} broke off: its responder ${error.message}`;
  const what = error instanceof Error && isCode(error.name) ? error.name : "an exception";
  return `${name} broke off: its responder threw ${what}; see the log`;
}

// The contract of a responder. What breaks it is a bug of the application's, and told apart from a model that refuses.
import { isJsonObject } from "../json.ts";
import { isCode, refusalIn } from "../models/provider-words.ts";
import { ResponderError, type ResponderEvent, type ResponderRequest } from "../models/responder.ts";

/** A responder did what its type forbids. The message ends a sentence that begins with its name, and is safe to show. */
export class BrokenContract extends Error {
  override readonly name = "BrokenContract";
}

interface Given {
  readonly respond: (request: ResponderRequest, signal: AbortSignal) => unknown;
}

/** @throws BrokenContract: what `respond` returned is no stream. */
export function eventsOf(
  responder: Given,
  request: ResponderRequest,
  signal: AbortSignal,
): AsyncIterable<ResponderEvent> {
  const isFunction = typeof responder.respond === "function";
  if (!isFunction) throw new BrokenContract("its responder has no `respond`");
  const stream: unknown = responder.respond(request, signal);
  if (typeof stream === "object" && stream !== null) {
    if (Symbol.asyncIterator in stream || Symbol.iterator in stream) return stream as never;
    if (stream instanceof Promise) stream.catch(() => undefined); // it must not end the process
  }
  const given = stream instanceof Promise ? "promise" : typeof stream;
  const what = given === "undefined" ? given : `${given === "object" ? "an" : "a"} ${given}`;
  throw new BrokenContract(
    `its responder returned ${what}: write \`async *respond\`, and yield events`,
  );
}

const isText = (value: unknown) => typeof value === "string";
const isObject = isJsonObject as (value: unknown) => boolean;

/** The fields of each event, each with what it must be. */
const fields: Readonly<Record<string, Readonly<Record<string, readonly [string, Fits]>>>> = {
  text: { text: ["text", isText] },
  reasoning: { text: ["text", isText] },
  "tool-call": {
    call: [
      "{ id, type, function: { name, arguments } }",
      (call) => isObject((call as Call)?.function),
    ],
  },
  "tool-result": { toolCallId: ["text", isText], content: ["text", isText] },
  "provider-session": { id: ["text", isText] },
  "provider-data": { data: ["an object", isObject] },
  end: { finish: ["text", isText], usage: ["an object", isObject] },
};

type Fits = (value: unknown) => boolean;
type Call = { readonly function?: unknown } | undefined;

/** @throws BrokenContract: this is no event. */
export function checkEvent(event: unknown): asserts event is ResponderEvent {
  if (!isJsonObject(event)) {
    const instead = typeof event === "string" ? 'yield { type: "text", text }' : "yield events";
    throw new BrokenContract(`its responder yielded a ${typeof event}: ${instead}`);
  }
  const { type } = event;
  const known = typeof type === "string" && Object.hasOwn(fields, type) ? fields[type] : undefined;
  if (known === undefined) {
    const what = isCode(type) ? `of the type "${type}"` : "without a type that is known";
    const types = Object.keys(fields).join(", ");
    throw new BrokenContract(`its responder yielded an event ${what}; there are ${types}`);
  }
  for (const [name, [wanted, fits]] of Object.entries(known)) {
    if (fits(event[name])) continue;
    throw new BrokenContract(
      `its responder yielded a \`${type}\` event whose ${name} is not ${wanted}`,
    );
  }
}

export const withoutEnd = () =>
  new BrokenContract(
    'its responder ended without an `end` event: yield { type: "end", finish, usage } last',
  );

export const ranEarly = (tool: string) =>
  new BrokenContract(
    `its responder called \`run\` of the tool ${tool} before it yielded its \`tool-call\` event`,
  );

/** Why an answer broke off, in words that are safe to show. */
export interface Broken {
  readonly reason: string;
  readonly detail?: string | undefined;
  /** The application's own code is at fault. */
  readonly isOwn: boolean;
}

/**
 * Tells a refusal of the provider from a bug of the application's own code.
 *
 * @param name `provider/model`.
 * @param tool the one that threw this, if one did.
 */
export function brokenBy(error: unknown, name: string, tool: string | undefined): Broken {
  if (error === undefined) return { reason: "The model's answer broke off.", isOwn: false };
  if (error instanceof ResponderError) {
    return { reason: error.message, detail: error.detail, isOwn: false };
  }
  if (error instanceof BrokenContract) {
    return { reason: `${name} broke off: ${error.message}`, isOwn: true };
  }
  const refusal = refusalIn(error, name);
  if (refusal !== undefined) return { ...refusal, isOwn: false };
  const what = error instanceof Error && isCode(error.name) ? error.name : "an exception";
  const who = tool === undefined ? "responder" : `tool ${tool}`;
  return { reason: `${name} broke off: its ${who} threw ${what}; see the log`, isOwn: true };
}

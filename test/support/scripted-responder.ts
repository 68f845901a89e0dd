import {
  type Responder,
  ResponderError,
  type ResponderEvent,
  type ResponderRequest,
  type Retry,
} from "../../src/core/models/responder.ts";

/** One thing that a scripted model does in a turn. A bare string is said. */
export type ScriptedStep =
  | string
  | ResponderEvent
  /** Says nothing until the promise resolves: the gate of a test. */
  | { readonly type: "wait"; readonly until: Promise<unknown> }
  /** The provider is not ready: says that it will be called again, and does not wait for it. */
  | ({ readonly type: "retrying" } & Retry)
  /** Throws; a `ResponderError` as a provider would, anything else as a bug would. */
  | { readonly type: "fail"; readonly error: unknown }
  /** The connection closes: an end that says so, with unknown usage. */
  | { readonly type: "cut" }
  /** Never goes on, until the turn is aborted. */
  | { readonly type: "hang" };

export interface ScriptedOptions {
  /** @default "scripted" */
  readonly provider?: string;
  /** @default "script-1" */
  readonly model?: string;
  readonly window?: number;
}

export interface ScriptedResponder extends Responder {
  /** What was asked, oldest first. */
  readonly requests: readonly ResponderRequest[];
}

/**
 * A model for tests: the first request plays the first turn of the script, and so on. A turn whose
 * last step is not an end gets one: `stop`, 10 input tokens, one output token for each text, no cost.
 * A request past the script is answered with a `ResponderError` that says so. Any step is cut short
 * by the signal, with its reason.
 */
export function scriptedResponder(
  turns: readonly (readonly ScriptedStep[])[],
  options: ScriptedOptions = {},
): ScriptedResponder {
  const requests: ResponderRequest[] = [];
  return {
    provider: options.provider ?? "scripted",
    model: options.model ?? "script-1",
    window: options.window,
    requests,
    respond(request, signal) {
      requests.push(request);
      const steps = turns[requests.length - 1] ?? [pastTheScript(turns.length)];
      return play(steps, request, signal);
    },
  };
}

function pastTheScript(turns: number): ScriptedStep {
  const message = `the script has ${turns} turns and was asked for one more`;
  return { type: "fail", error: new ResponderError(message, { kind: "refused" }) };
}

async function* play(
  steps: readonly ScriptedStep[],
  { onRetry }: ResponderRequest,
  signal: AbortSignal,
): AsyncGenerator<ResponderEvent, void> {
  let texts = 0;
  for (const step of steps) {
    signal.throwIfAborted();
    const event = typeof step === "string" ? { type: "text" as const, text: step } : step;
    if (event.type === "fail") throw event.error;
    if (event.type === "wait") await abortable(event.until, signal);
    else if (event.type === "hang") await abortable(new Promise(() => undefined), signal);
    else if (event.type === "retrying") onRetry?.(event);
    else if (event.type === "cut") {
      yield { type: "end", finish: "other", usage: usage(undefined, undefined) };
      return;
    } else {
      yield event;
      if (event.type === "end") return;
      if (event.type === "text") texts++;
    }
  }
  signal.throwIfAborted();
  yield { type: "end", finish: "stop", usage: usage(10, texts) };
}

function usage(inputTokens: number | undefined, outputTokens: number | undefined) {
  return { inputTokens, outputTokens, costUsd: 0 };
}

async function abortable(gate: Promise<unknown>, signal: AbortSignal): Promise<void> {
  const settled = new AbortController();
  const aborted = new Promise<never>((_, reject) => {
    const options = { once: true, signal: settled.signal };
    signal.addEventListener("abort", () => reject(signal.reason), options);
  });
  try {
    await Promise.race([gate, aborted]);
  } finally {
    settled.abort();
  }
}

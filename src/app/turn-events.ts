import { isThroughlineError } from "../core/errors.ts";
import type { OutputSink, TurnEvent, TurnResult } from "../core/turns/coordinator-ports.ts";
import type { Turn } from "../core/turns/turn.ts";

/** What a terminal is told of a turn beside its words. */
export interface Notices {
  /** Before the answer's first word. */
  early(text: string): Promise<void>;
  /** After its last. */
  late(text: string): void;
}

/**
 * A turn as the coordinator reads it: its text, then its result. When the signal is aborted the
 * answer is cut short, and the result still comes.
 */
export async function* turnEvents(
  turn: Turn,
  signal: AbortSignal,
  notices: Notices,
): AsyncGenerator<TurnEvent, void, undefined> {
  const stop = () => turn.stop();
  if (signal.aborted) stop();
  signal.addEventListener("abort", stop, { once: true });
  const told = new Set<string>();
  try {
    for await (const progress of turn.progress()) {
      if (progress.type === "text") yield progress;
      else if (progress.type === "notice") {
        told.add(progress.text);
        await notices.early(progress.text);
      } else if (progress.type === "retrying") {
        const { reason, waitMs } = progress;
        const seconds = Math.ceil(waitMs / 1_000);
        await notices.early(`${reason}. Trying again in ${seconds} s; Ctrl-C stops it.`);
      } else if (progress.type === "result") {
        const { answer } = progress;
        for (const text of answer.notices) if (!told.has(text)) notices.late(text);
        const { outcome, assistant, reason } = answer;
        if (outcome === "answered" && reason !== undefined) notices.late(reason);
        const response = assistant?.content ?? "";
        yield { type: "result", outcome, response, reason };
      }
    }
  } finally {
    signal.removeEventListener("abort", stop);
  }
}

/** Brings one turn to an output, as the coordinator does for what it submits. */
export async function deliver(
  turn: Turn,
  sink: OutputSink,
  signal: AbortSignal,
  notices: Notices,
): Promise<TurnResult> {
  let result: TurnResult = { outcome: "failed", response: "" };
  await sink.begin(() => turn.stop());
  try {
    for await (const event of turnEvents(turn, signal, notices)) {
      if (event.type === "text") await sink.write(event.text);
      else result = event;
    }
  } catch (error) {
    if (!isThroughlineError(error)) throw error;
    result = { ...result, reason: error.message };
  }
  await sink.end(result);
  return result;
}

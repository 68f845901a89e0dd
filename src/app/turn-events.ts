import type { RouteEvent, Routes } from "../cli/routes.ts";
import { isThroughlineError } from "../core/errors.ts";
import type { TurnEvent } from "../core/turns/coordinator.ts";
import type { answerJson } from "../server/wire.ts";

/** What a terminal is told of a turn beside its words. */
export interface Notices {
  /** The message is stored. */
  accepted?(): void;
  /** Before the answer's first word. */
  early(text: string): Promise<void>;
  /** After its last. */
  late(text: string): void;
  /** The whole result, as HTTP answers it. */
  result?(answer: AnswerJson): void;
}

export type AnswerJson = ReturnType<typeof answerJson>;

/** A turn that was asked of the routes of its chat. */
export interface AskedTurn {
  readonly routes: Routes;
  /** That of the chat. */
  readonly path: string;
  readonly events: AsyncIterable<RouteEvent>;
}

/**
 * Reads a turn as the coordinator does: its text, then its result. When the signal is aborted the
 * answer is cut short, and the result still comes.
 */
export async function* turnEvents(
  { routes, path, events }: AskedTurn,
  signal: AbortSignal,
  notices: Notices,
): AsyncGenerator<TurnEvent, void, undefined> {
  // Before its turn has begun, the answer that would be stopped is that of another message.
  let turnId: unknown;
  const stop = () => {
    if (turnId === undefined) return;
    void routes.post(`${path}/stop`, { turn_id: turnId }).catch(() => undefined);
  };
  signal.addEventListener("abort", stop, { once: true });
  const told = new Set<string>();
  try {
    for await (const { name, data } of events) {
      if (name === "accepted") {
        turnId = data["turn_id"];
        notices.accepted?.();
        if (signal.aborted) stop();
      } else if (name === "text") yield { type: "text", text: String(data["text"]) };
      else if (name === "notice") {
        told.add(String(data["text"]));
        await notices.early(String(data["text"]));
      } else if (name === "retrying") {
        const { reason, seconds } = data;
        await notices.early(`${reason}. Trying again in ${seconds} s; Ctrl-C stops it.`);
      } else if (name === "result") {
        const answer = data as unknown as AnswerJson;
        const { outcome, assistant, reason } = answer;
        for (const text of answer.notices) if (!told.has(text)) notices.late(text);
        if (outcome === "answered" && reason !== undefined) notices.late(reason);
        notices.result?.(answer);
        yield { type: "result", outcome, response: assistant?.content ?? "", reason };
      }
    }
  } catch (error) {
    if (!isThroughlineError(error, "THROUGHLINE_MODEL_FAILED")) throw error;
    yield { type: "result", outcome: "failed", response: "", reason: error.message };
  } finally {
    signal.removeEventListener("abort", stop);
  }
}

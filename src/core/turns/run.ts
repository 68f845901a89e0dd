import { notFound } from "../chat/chat-log.ts";
import { ageNote } from "../chat/freshness.ts";
import { periodView, type TurnTarget } from "../chat/provider-sessions.ts";
import { utteranceOf } from "../chat/working-memory.ts";
import { conflict, type ThroughlineError } from "../errors.ts";
import type { TurnHooks, TurnPart } from "../extension.ts";
import { inSpan } from "../telemetry.ts";
import { type Begun, beginTurn, type Ended, endTurn, type Stored } from "./records.ts";
import type { Turn, TurnAnswer } from "./turn.ts";
import { isDismissed, storedAnswer } from "./turn-log.ts";
import type { TurnsRuntime } from "./turns-options.ts";

/** What a turn is answered with: a model that is configured here, or an `OpenTurn`. */
export interface Answerer {
  readonly target: TurnTarget;
  /** For the person: another model answers than before. */
  readonly notice?: string | undefined;
  /** @param end stores the end of the turn. If it rejects, nothing is stored, and it may be called again. */
  answer(prompt: Prompt, end: (ended: Ended) => Promise<Stored>): Promise<Stored>;
}

/** A turn that has begun, with everything that its answer takes beside the history. */
export interface Prompt extends Omit<TurnsRuntime, "persona"> {
  readonly persona: string;
  readonly turn: Turn;
  readonly begun: Begun;
  /** What extensions tell the model. */
  readonly part: TurnPart;
}

/**
 * Runs a turn that has its chat. One that was answered before is replayed, and nothing of it happens again.
 *
 * @param choose finds what answers. @throws it cannot be answered here.
 * @param waited others may have written to the chat since it came.
 */
export async function run(
  ports: TurnsRuntime,
  turn: Turn,
  choose: () => Promise<Answerer>,
  waited: boolean,
): Promise<TurnAnswer> {
  // A waiting message may have been erased by now, or another process may have decided about it.
  const isKept = turn.retryId === undefined && !turn.isAgain;
  const isGone = waited && isKept && (await isDismissed(ports.chats, turn));
  // While it waited, another process may have taken it up, no matter which one made its id.
  const isRepeat = !isGone && !turn.isAgain && !turn.isFresh;
  const again = isRepeat ? await storedAnswer(ports.chats, turn) : undefined;
  if (again !== undefined) return again;
  ports.queue.publish(turn);
  const hooks = ports.extensions.turn(turn);
  if (isGone) throw notFound(turn.chatId, "message that waits");
  if (waited && turn.retryId !== undefined) throw isBeingAnswered();
  // Where none can be asked the turn fails below, inside the span.
  const chosen = await choose().catch((error: unknown) => ({ error }));
  const model = "error" in chosen ? undefined : chosen.target.model;
  const start = { type: "turn", chatId: turn.chatId, agent: ports.companionName, model } as const;
  return inSpan(ports.telemetry, start, async (span) => {
    turn.span = span;
    span.add({ stage: "begin" });
    if ("error" in chosen) throw chosen.error;
    return runWith(ports, turn, chosen, hooks);
  });
}

/** Begins, prompts, answers, ends and remembers. */
async function runWith(
  ports: TurnsRuntime,
  turn: Turn,
  answerer: Answerer,
  hooks: TurnHooks,
): Promise<TurnAnswer> {
  const { chatId, span, retryId } = turn;
  turn.assertUnfenced();
  const begun = await ports.chats.change(chatId, (transaction) =>
    beginTurn(ports, transaction, turn, answerer.target),
  );
  turn.files = [];
  if (begun.resolution.ended === "period") ports.sessions.announceEnd(chatId, "period");
  const memory = ports.workingMemory.of(chatId);
  if (begun.isNew) ports.extensions.heard(turn.chatId, begun.user);

  const added = hooks.begun(begun);
  turn.add({ type: "accepted", user: begun.user });
  turn.tell(answerer.notice);
  turn.tell(begun.notice);
  span.add({ stage: "model", freshness: begun.resolution.reason });
  let stored: Stored | undefined;
  try {
    // In this order: what begins ends only once it has begun.
    const [part, persona] = [await added, await ports.persona()];
    const prompt: Prompt = { ...ports, turn, begun, persona, part };
    stored = await answerer.answer(prompt, async (ended) => {
      const { finish, outcome, usage } = ended;
      span.add({ stage: "store", finish, input: usage.inputTokens, output: usage.outputTokens });
      turn.assertUnfenced();
      const end = await endTurn(ports, turn, begun, ended);
      span.add({ stage: outcome === "answered" ? "done" : "model" });
      span.end(outcome === "failed" ? "THROUGHLINE_MODEL_FAILED" : undefined);
      return end;
    });
  } finally {
    hooks.ended(stored?.assistant);
  }

  const { assistant, period, provider, usage, outcome, reason, detail } = stored;
  if (assistant !== undefined) ports.extensions.heard(chatId, assistant);
  const note = ageNote(period, provider, ports.clock.now(), ports.rules);
  // A retry without a word leaves what was answered before.
  if (retryId === undefined || assistant !== undefined) {
    const said = utteranceOf(turn, ports.companionName);
    const response = assistant?.content ?? "";
    ports.workingMemory.appendTo(chatId, memory, { ...said, response, outcome }, turn.id);
  }
  const view = periodView(chatId, period);
  const { user } = begun;
  return {
    turnId: turn.id,
    user,
    notices: note === undefined ? turn.notices : [...turn.notices, note],
    usage,
    assistant,
    period: view,
    outcome,
    reason,
    detail,
  };
}

export function isBeingAnswered(): ThroughlineError {
  return conflict("another answer is being made in this chat");
}

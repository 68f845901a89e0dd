import { notFound } from "../chat/chat-log.ts";
import type { Chats } from "../chat/chats.ts";
import { ageNote } from "../chat/freshness.ts";
import { periodView, type Target, type TurnTarget } from "../chat/provider-sessions.ts";
import { utteranceOf } from "../chat/working-memories.ts";
import { ThroughlineError } from "../errors.ts";
import type { TurnParts } from "../extensions.ts";
import { inSpan } from "../telemetry.ts";
import type { TurnStored } from "./open-turn.ts";
import { beginRetry } from "./retry-records.ts";
import { noticesOf } from "./rollover.ts";
import { storedAnswer } from "./stored-answer.ts";
import type { Turn, TurnAnswer } from "./turn.ts";
import { beginTurn } from "./turn-records.ts";
import type { RunningTurn } from "./turn-steps.ts";
import type { TurnsRuntime } from "./turns-options.ts";
import { isDismissed } from "./unanswered.ts";

/** What makes the answer of a turn. */
export interface Answering {
  /** What the message asked for: stored with one that waits. */
  readonly asked: Target;
  /** Called once before a message waits, and again when its turn has come. @throws it cannot be answered. */
  prepare(): Promise<{
    readonly target: TurnTarget;
    readonly notice?: string | undefined;
    /** Makes the answer and stores it. */
    answer(running: Omit<RunningTurn, "responder">): Promise<TurnStored>;
  }>;
}

/**
 * Runs a turn that has its chat: begins it, has its answer made and stored, and remembers the interaction.
 * One that was answered before is replayed, and nothing of it happens again.
 *
 * @param waited others may have written to the chat since it came.
 */
export async function runTurn(
  ports: TurnsRuntime,
  turn: Turn,
  answering: Answering,
  waited: boolean,
): Promise<TurnAnswer> {
  const isGone = waited && (await isUnwanted(ports.chats, turn));
  // While it waited, another process may have taken it up, no matter which one made its id.
  const isRepeat = !isGone && !turn.isAgain && !turn.isFresh;
  const again = isRepeat ? await storedAnswer(ports.chats, turn) : undefined;
  if (again !== undefined) return again;
  ports.queue.publish(turn);
  const parts = ports.extensions.turn(turn);
  if (isGone) throw notFound(turn.chatId, "message that waits");
  if (waited && turn.retryId !== undefined) throw isBeingAnswered();
  const prepared = answering.prepare();
  const start = {
    type: "turn",
    chatId: turn.chatId,
    agent: ports.companionName,
    // Where none can be asked the turn fails below, inside the span.
    model: await prepared.then(({ target }) => target.model).catch(() => undefined),
  } as const;
  return inSpan(ports.telemetry, start, async (span) => {
    turn.span = span;
    span.add({ stage: "begin" });
    return speak(ports, turn, await prepared, parts);
  });
}

async function speak(
  ports: TurnsRuntime,
  turn: Turn,
  { target, notice, answer: make }: Awaited<ReturnType<Answering["prepare"]>>,
  parts: TurnParts,
): Promise<TurnAnswer> {
  turn.assertUnfenced();
  const begun =
    turn.retryId === undefined
      ? await beginTurn(ports, turn, target)
      : await beginRetry(ports, { ...turn, retryId: turn.retryId }, target);
  turn.files = [];
  ports.sessions.announceEnd(turn.chatId, begun.resolution);
  const memory = ports.workingMemory.of(turn.chatId);
  if (begun.isNew) ports.extensions.heard(turn.chatId, begun.user);
  const part = parts.begin(begun);
  turn.add({ type: "accepted", user: begun.user });
  const notices = noticesOf(begun, notice);
  for (const text of notices) turn.add({ type: "notice", text });
  turn.span.add({ stage: "model", freshness: begun.resolution.reason });
  let stored: TurnStored;
  try {
    const [persona, own] = [await ports.persona(), await part];
    stored = await make({ ...ports, turn, begun, notices, persona, part: own });
  } catch (error) {
    parts.end(undefined);
    throw error;
  }
  const { assistant, period, ended } = stored;
  parts.end(assistant);
  if (assistant !== undefined) ports.extensions.heard(turn.chatId, assistant);
  const note = ageNote(period, ended.provider, ports.clock.now(), ports.rules);
  if (note !== undefined) notices.push(note);
  const { text: response, outcome, usage, reason, detail } = ended;
  // A retry without a word leaves what was answered before.
  if (turn.retryId === undefined || assistant !== undefined) {
    const said = { ...utteranceOf(turn, ports.companionName), response, outcome };
    ports.workingMemory.appendTo(turn.chatId, memory, said, turn.id);
  }
  return {
    turnId: turn.id,
    user: begun.user,
    notices,
    usage,
    assistant,
    period: periodView(turn.chatId, period),
    outcome,
    reason,
    detail,
  };
}

/** A waiting turn may have been erased by now, or another process may have decided about it. */
async function isUnwanted(chats: Chats, turn: Turn): Promise<boolean> {
  const isKept = turn.retryId === undefined && !turn.isAgain;
  return isKept && isDismissed(chats, turn);
}

export function isBeingAnswered(): ThroughlineError {
  return new ThroughlineError("another answer is being made in this chat", {
    code: "THROUGHLINE_CONFLICT",
  });
}

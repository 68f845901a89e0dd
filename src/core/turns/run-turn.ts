import { notFound } from "../chat/chat-log.ts";
import type { Chats } from "../chat/chats.ts";
import { ageNote } from "../chat/freshness.ts";
import { attachmentNotes } from "../chat/model-row.ts";
import { periodView, type Target, type TurnTarget } from "../chat/provider-sessions.ts";
import { ThroughlineError } from "../errors.ts";
import type { TurnParts } from "../extensions.ts";
import { inSpan } from "../telemetry.ts";
import { parseIntent } from "./intent.ts";
import type { TurnStored } from "./open-turn.ts";
import { beginRetry } from "./retry-records.ts";
import { noticesOf } from "./rollover.ts";
import { storedAnswer } from "./stored-answer.ts";
import type { Turn, TurnAnswer } from "./turn.ts";
import { beginTurn, type Ended } from "./turn-records.ts";
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
  const isRepeat = !isGone && !turn.isAgain && (waited || !turn.isFresh);
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
  const part = parts.begin(begun);
  turn.add({ type: "accepted", user: begun.user });
  const notices = noticesOf(begun, notice);
  for (const text of notices) turn.add({ type: "notice", text });
  turn.span.add({ stage: "model", freshness: begun.resolution.reason });
  const running = { ...ports, turn, begun, notices };
  const work = async () => make({ ...running, persona: await ports.persona(), part: await part });
  const { answer, ended } = await makeAnswer(running, parts, work);
  // A retry without a word leaves what was answered before.
  if (turn.retryId === undefined || answer.assistant !== undefined) {
    const { text: response, outcome } = ended;
    const { companionName } = ports;
    // What was sent without a word is remembered by its name.
    const utterance = turn.content.trim() === "" ? attachmentNotes(turn.attachments) : turn.content;
    const said = {
      utterance,
      intent: parseIntent(utterance, companionName).type,
      response,
      outcome,
    };
    ports.workingMemory.appendTo(turn.chatId, memory, said, turn.id);
  }
  return answer;
}

async function makeAnswer(
  running: Pick<TurnsRuntime, "chats" | "rules" | "clock"> &
    Pick<RunningTurn, "turn" | "begun" | "notices">,
  parts: TurnParts,
  work: () => Promise<TurnStored>,
): Promise<{ readonly answer: TurnAnswer; readonly ended: Ended }> {
  const { chats, rules, clock, turn, begun, notices } = running;
  const { assistant, period, ended } = await work().catch((error: unknown) => {
    parts.end(undefined);
    throw error;
  });
  parts.end(assistant);
  const note = ageNote(period, ended.provider, clock.now(), rules);
  if (note !== undefined) notices.push(note);
  const stored = assistant && (await chats.find(turn.chatId, assistant.id));
  const answer: TurnAnswer = {
    turnId: turn.id,
    user: begun.user,
    notices,
    usage: ended.usage,
    assistant: stored,
    period: periodView(turn.chatId, period),
    outcome: ended.outcome,
    reason: ended.reason,
    detail: ended.detail,
  };
  return { answer, ended };
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

// How a turn begins: the user's message, and the period that it opens or goes on in, in one append.
import { attachmentsOf, sameFiles } from "../chat/attachments.ts";
import type { Chats } from "../chat/chats.ts";
import { isTakenBack } from "../chat/marks.ts";
import { isControl, isMessage, type StoredMessage } from "../chat/message.ts";
import type { Period } from "../chat/period.ts";
import type { Resolution, Target } from "../chat/provider-sessions.ts";
import { checkMessageId, controlId } from "../chat/record-ids.ts";
import type { Transaction } from "../chat/transaction.ts";
import { besideWords, pendingId, waitingInput } from "../chat/waiting.ts";
import { conflict, ThroughlineError } from "../errors.ts";
import { isErased, prepareBatch } from "../storage/batch.ts";
import type { StoredRecord } from "../storage/log-store.ts";
import type { Turn } from "./turn.ts";
import { newestWords } from "./turn-log.ts";
import type { TurnsRuntime } from "./turns-options.ts";

export interface Begun {
  readonly user: StoredMessage;
  readonly resolution: Resolution;
  /** As the turn found it: what it writes later counts only while this period lasts. */
  readonly period: Period;
  readonly attempt: number;
  /** The person says this now: it is no second attempt, and no other answer to what was said. */
  readonly isNew: boolean;
  /** How long the person had been away, when that is worth a line. */
  readonly awayMs: number | undefined;
  /** For the person and the model: the period that ended with this turn, or with an attempt without an answer. */
  readonly notice: string | undefined;
  /** What an extension stored with the last answer: see `TurnPart.acknowledged`. */
  readonly acknowledged: number | undefined;
}

type Ports = Pick<TurnsRuntime, "chats" | "sessions" | "rules">;

/**
 * Stores the files of a message, as a part of the change that stores the message: what is forgotten comes
 * before both or after both. A crash in between leaves files that no message names, and the same message
 * sent again finds them.
 */
async function keepFiles({ files }: Chats, turn: Turn, transaction: Transaction): Promise<void> {
  // What is refused leaves no files behind.
  checkMessageId(turn.id);
  checkRoom(turn, transaction);
  for (const { bytes } of turn.files) await files.put(turn.chatId, bytes);
}

/** @throws ThroughlineError `THROUGHLINE_ID_CONFLICT`: the stored message has other files. */
function assertSameFiles(stored: StoredRecord, { attachments }: Turn): void {
  if (sameFiles(attachmentsOf(stored), attachments)) return;
  throw new ThroughlineError("a message with this id and other files is stored already", {
    code: "THROUGHLINE_ID_CONFLICT",
  });
}

/** Begins a turn in one change: commits the user's message, with the period that it opens or goes on in. */
export async function beginTurn(
  ports: Ports,
  transaction: Transaction,
  turn: Turn,
  target: Target,
): Promise<Begun> {
  const { chats, sessions } = ports;
  const { logs } = chats;
  const { chatId } = transaction;
  const isAbsent = turn.isFresh || turn.absentAt === transaction.seq;
  const record = isAbsent ? undefined : await logs.find(chatId, turn.id);
  const isShown = record && !(await isTakenBack(logs, chatId, turn.id));
  const known = isShown && isMessage(record) ? record : undefined;
  const isQueued = transaction.head.pending?.includes(turn.id) ?? false;
  const waiting = isQueued ? await waitingInput(logs, chatId, turn.id) : undefined;
  const isNew = known === undefined;
  const stored = known ?? waiting;
  if (stored !== undefined) assertSameFiles(stored, turn);
  else if (turn.files.length > 0) await keepFiles(chats, turn, transaction);
  const { head } = transaction;
  // An attempt at it has no answer.
  const open = head.open_turn?.id === turn.id ? head.open_turn : undefined;
  // Told once: with the words that were said after it.
  const away =
    waiting?.["away_ms"] ??
    (isNew && !isQueued ? awayBefore(ports, transaction, turn) : open?.away_ms);
  const awayMs = typeof away === "number" ? away : undefined;
  const resolution = await sessions.resolveIn(transaction, target, { isQueued });
  const trace_id = turn.span.traceId;
  const said = {
    id: turn.id,
    role: "user",
    content: turn.content,
    turn: turn.id,
    ...besideWords(turn),
    trace_id,
    // A message that waited was said when it came.
    timestamp: waiting && String(waiting["timestamp"]),
  } as const;
  const user = await chats.appendTo(transaction, said, record === undefined);
  // Only a person's act moves the clock: not the second attempt, and a queued message did before.
  const isAct = isNew ? !isQueued : turn.isAgain && open === undefined;
  if (isAct && turn.synthetic === undefined) sessions.humanActedIn(transaction);
  if (isNew && awayMs !== undefined) {
    transaction.control("turn", { event: "time_away", turn: turn.id, away_ms: awayMs });
  }
  const attempt = (open?.attempts ?? 0) + 1;
  if (!isNew) transaction.control("turn", { event: "attempt", turn: turn.id, attempt, trace_id });
  const notice = endNotice(resolution) ?? open?.notice;
  const pending = head.pending?.filter((each) => each !== turn.id);
  transaction.set({
    open_turn: { id: turn.id, seq: user.seq, attempts: attempt, away_ms: awayMs, notice },
    pending: pending?.length ? pending : undefined,
  });
  const { session, told_session: acknowledged } = transaction.head;
  const period = session as Period;
  return { user, resolution, period, attempt, isNew, awayMs, notice, acknowledged };
}

/** How long the person had been away before this was said, when that is worth a line. */
function awayBefore(
  { rules }: Pick<Ports, "rules">,
  { head, now }: Transaction,
  turn: Turn,
): number | undefined {
  const humanAt = head.session?.human_at;
  if (humanAt === undefined || turn.synthetic !== undefined) return undefined;
  const away = now - Date.parse(humanAt);
  return rules.timeAwayMinutes > 0 && away >= rules.timeAwayMinutes * 60_000 ? away : undefined;
}

/** Keeps a message that waits for its turn. The person acted now: the period is not judged. */
export function keepPending(
  { chats, sessions, ...ports }: Ports,
  turn: Turn,
  target: Target,
): Promise<void> {
  const { logs } = chats;
  const id = pendingId(turn.id);
  return chats.change(turn.chatId, async (transaction) => {
    if ((await logs.find(transaction.chatId, turn.id)) !== undefined) return;
    const kept = await logs.find(transaction.chatId, id);
    // Erased while it waited: its files must not come back either.
    if (kept !== undefined && isErased(kept)) return;
    if (kept !== undefined && isControl(kept, "pending_input")) {
      assertSameFiles(kept, turn);
      return;
    }
    await keepFiles(chats, turn, transaction);
    const fields = { content: turn.content, ...besideWords(turn), ...target };
    const away_ms = awayBefore(ports, transaction, turn);
    transaction.control("pending_input", { ...fields, away_ms }, id);
    transaction.set({ pending: [...(transaction.head.pending ?? []), turn.id] });
    if (turn.synthetic === undefined) sessions.humanActedIn(transaction);
  });
}

/** What is kept must fit into a record in whatever form it ends: traced or dismissed. */
function checkRoom(turn: Turn, { at }: Transaction): void {
  const { chatId, id, content } = turn;
  const longest = {
    id,
    role: "user",
    content,
    timestamp: at,
    turn: id,
    ...besideWords(turn),
    trace_id: "0".repeat(32), // longer than the mark of a dismissed one
  };
  prepareBatch(chatId, [longest]);
}

/**
 * Begins to regenerate the answer to a message. The old answer stays until the new one is stored: a
 * crash in between leaves everything as it was.
 *
 * @throws ThroughlineError `THROUGHLINE_CONFLICT`: something was said after it, or it has no answer.
 */
export async function beginRetry(
  { chats, sessions }: Ports,
  transaction: Transaction,
  { id, retryId = "", span }: Turn,
  target: Target,
): Promise<Begun> {
  const user = await newestWords(chats, transaction);
  if (user?.id !== id || transaction.head.open_turn?.id === id) {
    throw conflict("only the answer to the newest message can be regenerated");
  }
  const resolution = await sessions.resolveIn(transaction, target);
  sessions.humanActedIn(transaction);
  const mark = controlId("retry", retryId);
  const fields = { event: "retry", turn: id, retry: retryId, trace_id: span.traceId };
  const isNew = (await chats.logs.find(transaction.chatId, mark)) === undefined;
  if (isNew) transaction.control("turn", fields, mark);
  const { session, told_session: acknowledged } = transaction.head;
  const begun = { user, resolution, period: session as Period, acknowledged, attempt: 1 };
  return { ...begun, isNew: false, awayMs: undefined, notice: endNotice(resolution) };
}

/**
 * The message that a retry with this id was of: also when something was said since.
 *
 * @throws ThroughlineError `THROUGHLINE_CONFLICT`: it was erased or taken back.
 */
export async function retriedWith(
  chats: Chats,
  chatId: string,
  retryId: string,
): Promise<StoredMessage | undefined> {
  const mark = await chats.logs.find(chatId, controlId("retry", retryId));
  if (mark === undefined) return undefined;
  const user = await chats.find(chatId, String(mark["turn"]));
  if (user !== undefined) return user;
  throw conflict("the message that this retry was of was erased or taken back");
}

/** Says what a person should know of the period, or a provider's part of it, that ended. */
function endNotice({ ended, reason, period }: Resolution): string | undefined {
  if (ended === "nothing") return undefined;
  return ended === "period"
    ? `A new session began (${reason}). The one before is kept and can be read.`
    : `${period.provider} starts afresh (${reason}). What was said is kept.`;
}

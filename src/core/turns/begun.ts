// How a turn begins: the user's message, and the period that it opens or goes on in, in one append.
import { attachmentsOf, sameFiles } from "../chat/attachments.ts";
import type { Chats } from "../chat/chats.ts";
import { checkMessageId, controlId } from "../chat/control-ids.ts";
import type { FreshnessRules } from "../chat/freshness.ts";
import { isTakenBack } from "../chat/marks.ts";
import { type ControlRecord, isControl, isMessage, type StoredMessage } from "../chat/message.ts";
import type { Period } from "../chat/period.ts";
import type { Resolution, Target } from "../chat/provider-sessions.ts";
import type { Transaction } from "../chat/transaction.ts";
import { unansweredRecords } from "../chat/unanswered-words.ts";
import { besideWords, pendingId, waitingInput } from "../chat/waiting.ts";
import { isThroughlineError, ThroughlineError } from "../errors.ts";
import type { Json } from "../json.ts";
import { isErased, prepareBatch } from "../storage/batch.ts";
import type { LogStore, StoredRecord } from "../storage/log-store.ts";
import type { Span } from "../telemetry.ts";
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
  /** What ended with this turn, or with an attempt at it without an answer: not announced yet. */
  readonly ended: EndedPart | undefined;
  /** What an extension stored with the last answer: see `TurnPart.acknowledged`. */
  readonly acknowledged: number | undefined;
}

/** What is stored of a turn as it begins. */
type NewTurn = Pick<
  Turn,
  | "chatId"
  | "id"
  | "content"
  | "name"
  | "synthetic"
  | "extra"
  | "exact"
  | "attachments"
  | "files"
  | "isFresh"
  | "isAgain"
> & {
  /** By which the turn is found in traces. */
  readonly span: Pick<Span, "traceId">;
};

/**
 * Stores the files of a message, as a part of the change that stores the message: what is forgotten comes
 * before both or after both. A crash in between leaves files that no message names, and the same message
 * sent again finds them.
 */
async function keepFiles({ files }: Chats, turn: NewTurn, transaction: Transaction): Promise<void> {
  const { chatId, files: given } = turn;
  if (given.length === 0) return;
  // What is refused leaves no files behind.
  checkMessageId(turn.id);
  checkRoom(turn, transaction);
  for (const { bytes } of given) await files.put(chatId, bytes);
}

/** @throws ThroughlineError `THROUGHLINE_ID_CONFLICT`: the stored message has other files. */
function assertSameFiles(stored: StoredRecord, { attachments }: NewTurn): void {
  if (sameFiles(attachmentsOf(stored), attachments)) return;
  throw new ThroughlineError("a message with this id and other files is stored already", {
    code: "THROUGHLINE_ID_CONFLICT",
  });
}

/** Commits the user's message, with the period that it opens or goes on in. */
export function beginTurn(
  ports: Pick<TurnsRuntime, "chats" | "sessions" | "rules">,
  turn: NewTurn,
  target: Target,
): Promise<Begun> {
  return ports.chats.change(turn.chatId, (transaction) =>
    beginTurnIn(ports, transaction, turn, target),
  );
}

/** `beginTurn` as a part of a larger change, or of one that is not stored. */
export async function beginTurnIn(
  ports: Pick<TurnsRuntime, "chats" | "sessions" | "rules">,
  transaction: Transaction,
  turn: NewTurn,
  target: Target,
): Promise<Begun> {
  const { chats, sessions, rules } = ports;
  const { logs } = chats;
  const record = turn.isFresh ? undefined : await logs.find(transaction.chatId, turn.id);
  const isShown = record && !(await isTakenBack(logs, transaction.chatId, turn.id));
  const known = isShown && isMessage(record) ? record : undefined;
  const isQueued = transaction.head.pending?.includes(turn.id) ?? false;
  const waiting = isQueued ? await waitingInput(logs, transaction.chatId, turn.id) : undefined;
  const isNew = known === undefined;
  const stored = known ?? waiting;
  if (stored === undefined) await keepFiles(chats, turn, transaction);
  else assertSameFiles(stored, turn);
  // Told once: with the words that were said after it.
  const away = isNew
    ? (waiting?.["away_ms"] ?? awayBefore(transaction, turn, { isQueued, rules }))
    : await awayAt(chats, transaction.chatId, known);
  const resolution = await sessions.resolveIn(transaction, target, { isQueued });
  const said = {
    id: turn.id,
    role: "user",
    content: turn.content,
    turn: turn.id,
    ...besideWords(turn),
    trace_id: turn.span.traceId,
    // A message that waited was said when it came.
    timestamp: waiting && String(waiting["timestamp"]),
  } as const;
  const user = await chats.appendTo(transaction, said, record === undefined);
  const open = transaction.head.open_turn;
  // Only a person's act moves the clock: not the second attempt, and a queued message did before.
  const isAct = isNew ? !isQueued : turn.isAgain && open?.id !== turn.id;
  if (isAct && isPersons(turn)) sessions.humanActedIn(transaction);
  if (isNew && typeof away === "number") {
    transaction.control("turn", { event: "time_away", turn: turn.id, away_ms: away });
  }
  const attempt = open?.id === turn.id ? open.attempts + 1 : 1;
  if (!isNew) {
    const trace_id = turn.span.traceId;
    transaction.control("turn", { event: "attempt", turn: turn.id, attempt, trace_id });
  }
  transaction.set({
    open_turn: { id: turn.id, seq: user.seq, attempts: attempt },
    pending: without(transaction.head.pending, turn.id),
  });
  const period = transaction.head.session as Period;
  const awayMs = typeof away === "number" ? away : undefined;
  const ended =
    endedBy(resolution) ?? (isNew ? undefined : await endedAt(chats, transaction, user));
  const acknowledged = transaction.head.told_session;
  return { user, resolution, period, attempt, isNew, awayMs, ended, acknowledged };
}

/** How long the person had been away when this was said, as it was noted with it. */
async function awayAt(
  chats: Chats,
  chatId: string,
  { id, seq }: StoredMessage,
): Promise<Json | undefined> {
  const [record] = await chats.logs.page(chatId, { after: seq, limit: 1 });
  const isIt = record !== undefined && isControl(record, "turn") && record["turn"] === id;
  return isIt && record["event"] === "time_away" ? record["away_ms"] : undefined;
}

/** Whether a person said it, not the application. */
const isPersons = ({ synthetic }: NewTurn) => synthetic === undefined;

/** How long the person had been away before this was said, when that is worth a line. */
function awayBefore(
  { head, now }: Transaction,
  turn: NewTurn,
  { isQueued, rules }: { readonly isQueued: boolean; readonly rules: FreshnessRules },
): number | undefined {
  const humanAt = head.session?.human_at;
  if (humanAt === undefined || isQueued || !isPersons(turn)) return undefined;
  const away = now - Date.parse(humanAt);
  return rules.timeAwayMinutes > 0 && away >= rules.timeAwayMinutes * 60_000 ? away : undefined;
}

/** Keeps a message that waits for its turn. The person acted now: the period is not judged. */
export async function keepPending(
  ports: Pick<TurnsRuntime, "chats" | "sessions" | "rules">,
  turn: NewTurn,
  target: Target,
): Promise<void> {
  const { chats, sessions, rules } = ports;
  const { logs } = chats;
  const id = pendingId(turn.id);
  const keep = chats.change(turn.chatId, async (transaction) => {
    if ((await logs.find(transaction.chatId, turn.id)) !== undefined) return;
    const kept = await logs.find(transaction.chatId, id);
    // Erased while it waited: its files must not come back either.
    if (kept !== undefined && (isErased(kept) || isControl(kept, "pending_input"))) return;
    checkMessageId(turn.id);
    checkRoom(turn, transaction);
    await keepFiles(chats, turn, transaction);
    const away = awayBefore(transaction, turn, { isQueued: false, rules });
    transaction.control(
      "pending_input",
      {
        content: turn.content,
        ...besideWords(turn),
        provider: target.provider,
        model: target.model,
        away_ms: away,
      },
      id,
    );
    transaction.set({ pending: [...(transaction.head.pending ?? []), turn.id] });
    if (isPersons(turn)) sessions.humanActedIn(transaction);
  });
  try {
    await keep;
  } catch (error) {
    // The same message was sent to another process, which kept it first, with its own time.
    const isKept = isThroughlineError(error, "THROUGHLINE_ID_CONFLICT");
    if (!isKept || (await waitingInput(logs, turn.chatId, turn.id)) === undefined) throw error;
  }
  const kept = await waitingInput(logs, turn.chatId, turn.id);
  if (kept !== undefined) assertSameFiles(kept, turn);
}

/** What is kept must fit into a record in whatever form it ends: traced or dismissed. */
function checkRoom(turn: NewTurn, { at }: Transaction): void {
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
export function beginRetry(
  { chats, sessions }: Pick<TurnsRuntime, "chats" | "sessions">,
  turn: Pick<Turn, "chatId" | "id" | "span">,
  retryId: string,
  target: Target,
): Promise<Begun> {
  return chats.change(turn.chatId, async (transaction) => {
    const user = await newestWords(chats, transaction);
    if (user?.id !== turn.id || transaction.head.open_turn?.id === turn.id) {
      throw new ThroughlineError("only the answer to the newest message can be regenerated", {
        code: "THROUGHLINE_CONFLICT",
      });
    }
    const resolution = await sessions.resolveIn(transaction, target);
    sessions.humanActedIn(transaction);
    const { logs } = chats;
    const mark = await retryMark(logs, transaction.chatId, retryId);
    const trace_id = turn.span.traceId;
    const fields = { event: "retry", turn: turn.id, retry: retryId, trace_id };
    if (mark.of === undefined) transaction.control("turn", fields, mark.id);
    const { session, told_session: acknowledged } = transaction.head;
    const begun = { user, resolution, period: session as Period, acknowledged };
    return { ...begun, attempt: 1, isNew: false, awayMs: undefined, ended: endedBy(resolution) };
  });
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
  const { of } = await retryMark(chats.logs, chatId, retryId);
  if (of === undefined) return undefined;
  const user = await chats.find(chatId, of);
  if (user !== undefined) return user;
  throw new ThroughlineError("the message that this retry was of was erased or taken back", {
    code: "THROUGHLINE_CONFLICT",
  });
}

/** The record of a retry, and where there is none, the id that it is to have. */
async function retryMark(
  logs: Pick<LogStore, "find">,
  chatId: string,
  retryId: string,
): Promise<{ readonly id: string; readonly of: string | undefined }> {
  for (let n = 1; ; n++) {
    const id = controlId("retry", retryId, n);
    const record = await logs.find(chatId, id);
    if (record === undefined) return { id, of: undefined };
    const { retry, turn } = record;
    const isIt = isControl(record, "turn") && retry === retryId && typeof turn === "string";
    if (isIt) return { id, of: turn };
  }
}

/** A period that ended, or a provider's part of it. */
export interface EndedPart {
  readonly provider?: string;
  readonly reason: string;
}

function endedBy({ ended, reason, period }: Resolution): EndedPart | undefined {
  if (ended === "nothing") return undefined;
  return ended === "period" ? { reason } : { provider: period.provider, reason };
}

/**
 * What an attempt before at this message ended, if that began what lasts still: the period, or the
 * provider's part of it.
 */
export async function endedAt(
  chats: Chats,
  { chatId, head: { session: period, provider_start: starts } }: Transaction,
  user: StoredMessage,
): Promise<EndedPart | undefined> {
  if (period === null) return undefined;
  const { generation, provider } = period;
  const reasonOf = async (start: number | undefined, isIt: (ending: ControlRecord) => boolean) => {
    if (start === undefined) return undefined;
    // Before the record of its beginning lies at most what no person had answered.
    const page = { after: Math.max(start - 1, 0), limit: unansweredRecords + 2 };
    const records = await chats.logs.page(chatId, page);
    const ending = records.filter((record) => isControl(record, "session")).findLast(isIt);
    // With the message, in one append, or after it.
    const isSince = ending !== undefined && ending.seq >= user.seq - 1;
    return isSince && typeof ending["reason"] === "string" ? ending["reason"] : undefined;
  };
  const ofPeriod = await reasonOf(period.start_seq, (ending) => {
    return ending["event"] === "rolled_over" && ending["generation"] === generation;
  });
  if (ofPeriod !== undefined) return { reason: ofPeriod };
  const reason = await reasonOf(starts?.[provider], (ending) => {
    return ending["event"] === "provider_reset" && ending["provider"] === provider;
  });
  return reason === undefined ? undefined : { provider, reason };
}

/**
 * Says what a person should know of the period that a turn began in.
 *
 * @param first comes before that.
 */
export function noticesOf({ ended }: Pick<Begun, "ended">, first?: string): string[] {
  const notices = first === undefined ? [] : [first];
  if (ended === undefined) return notices;
  const { provider, reason } = ended;
  const said =
    provider === undefined
      ? `A new session began (${reason}). The one before is kept and can be read.`
      : `${provider} starts afresh (${reason}). What was said is kept.`;
  return [...notices, said];
}

function without(pending: readonly string[] | undefined, id: string) {
  const rest = pending?.filter((each) => each !== id);
  return rest === undefined || rest.length === 0 ? undefined : rest;
}

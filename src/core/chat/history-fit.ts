import { tokensOf } from "./attachments.ts";
import type { Compaction } from "./compaction.ts";
import type { ModelInput } from "./message.ts";
import { attachmentNotes, type ModelRow, rowOf } from "./model-row.ts";
import { estimateTokens, messageTokens } from "./token-budget.ts";
import { type Turn, turnTokens } from "./turns.ts";

interface Fit {
  readonly head: ModelInput | undefined;
  readonly turns: readonly Turn[];
  /** Where the view begins, also if its first turns have to wait for a large newest one. */
  readonly fromSeq: number;
  readonly tokens: number;
}

/** The room of a history. */
interface Room {
  readonly budget: number;
  /** Tokens that the provider counts for each that is estimated. */
  readonly ratio: number;
}

/** A text of a turn is large from here on, in estimated tokens. */
const largeText = (budget: number) => Math.max(200, Math.floor(budget / 16));

/**
 * Chooses what of a chat a model gets (rules 5 to 7), in whole turns:
 *
 * 1. Everything from the start of the view before, while it fits.
 * 2. Large texts of the turns before the newest are shortened.
 * 3. The start moves to where half of the budget is filled, the newest turn being shortened too.
 * 4. The newest turn itself has the rest: its tool results are shortened, the oldest turns wait until it is
 *    no longer the newest, and what else is large in it is shortened more. The words of its person are
 *    never cut.
 */
export function fit(
  turns: readonly Turn[],
  head: ModelInput | undefined,
  { budget, ratio, viewFromSeq }: Room & { readonly viewFromSeq: number },
): Fit {
  const limit = budget / ratio;
  const large = largeText(budget);
  const stable = turns.findIndex(({ seq }) => seq >= viewFromSeq);
  const known = turns.slice(stable < 0 ? -1 : stable);
  const headTokens = head === undefined ? 0 : messageTokens(head);
  const counted = (estimate: number) => Math.ceil(estimate * ratio);
  const whole = headTokens + sum(known);
  const fromSeq = known[0]?.seq ?? 0;
  if (whole <= limit) return { head, turns: known, fromSeq, tokens: counted(whole) };

  const older = known.map((turn) => shortenTurn(turn, large));
  let size = headTokens + sum(older);
  const remove = (turn: Turn | undefined) => {
    if (turn !== undefined) size -= turnTokens(turn);
  };
  if (size > limit) while (older.length > 1 && size > limit / 2) remove(older.shift());
  const start = older[0]?.seq ?? fromSeq;

  remove(older.pop());
  const own = known.slice(-1);
  let newest = own;
  let most = Math.max(limit / 2, large);
  const isFull = () => size + sum(newest) > limit;
  const shortenTo = (least: number) => {
    for (; isFull() && most >= least; most /= 2) newest = own.map((t) => shortenTurn(t, most, 1));
  };
  shortenTo(large);
  while (isFull() && older.length > 0) remove(older.shift());
  const withHead = isFull() ? undefined : head;
  if (withHead === undefined) size -= headTokens;
  shortenTo(20);
  const tokens = counted(size + sum(newest));
  return { head: withHead, turns: [...older, ...newest], fromSeq: start, tokens };
}

/** Whether these turns fill a view, so that older ones cannot be in it. */
export function isFilled(turns: readonly Turn[], { budget, ratio }: Room): boolean {
  // What the companion said first makes a first message longer, and so perhaps large and then shorter.
  const least = largeText(budget) * 0.7;
  return sum(turns.map((turn) => shortenTurn(turn, least))) > budget / ratio;
}

function sum(turns: readonly Turn[]): number {
  let tokens = 0;
  for (const turn of turns) tokens += turnTokens(turn);
  return tokens;
}

/**
 * Without the turns that a summary stands for. One that it covers in part stays whole, and the newest
 * turn stays whatever it covers.
 */
export function uncovered(
  turns: readonly Turn[],
  compaction: Compaction | undefined,
): readonly Turn[] {
  if (compaction === undefined) return turns;
  const { upToSeq } = compaction;
  return turns.filter(({ rows }, index) => {
    const next = turns[index + 1];
    return next === undefined || rows.some(({ seq }) => seq > upToSeq && seq < next.seq);
  });
}

/**
 * Shortens each text, argument and result of a turn that is larger than this, and names larger files
 * instead of handing them over.
 *
 * @param most in tokens.
 * @param keptRows how many rows from the first stay as they are.
 */
function shortenTurn(turn: Turn, most: number, keptRows = 0): Turn {
  if (turn.rows.every(({ tokens }) => tokens <= most)) return turn;
  const rows = turn.rows.map((row, index) => (index < keptRows ? row : shortenRow(row, most)));
  return { ...turn, rows };
}

function shortenRow({ seq, messages }: ModelRow, most: number): ModelRow {
  return rowOf(
    seq,
    messages.map((message) => shortenMessage(message, most)),
  );
}

function shortenMessage(message: ModelInput, most: number): ModelInput {
  const content = shortenText(message.content, most);
  if (message.role === "assistant" && message.toolCalls !== undefined) {
    const toolCalls = message.toolCalls.map((call) => {
      const short = shortenArguments(call.function.arguments, most);
      return { ...call, function: { ...call.function, arguments: short } };
    });
    return { ...message, content, toolCalls };
  }
  if (message.role !== "user" || message.files === undefined) return { ...message, content };
  const named = message.files.filter((file) => tokensOf(file) > most);
  const files = message.files.filter((file) => !named.includes(file));
  const texts = [content, attachmentNotes(named)].filter((each) => each !== "");
  return { ...message, content: texts.join("\n\n"), files };
}

/** Keeps the beginning and the end, and says between them how much is missing. */
function shortenText(text: string, most: number): string {
  const bytes = Buffer.byteLength(text);
  if (estimateTokens(bytes) <= most) return text;
  const kept = Math.floor(text.length * ((most * 3 * 0.75) / bytes));
  const end = Math.floor(kept / 3);
  const left = `\n[… ${text.length - kept} characters are left out here …]\n`;
  return (text.slice(0, kept - end) + left + text.slice(text.length - end)).toWellFormed();
}

/** Keeps arguments an object, which providers check. */
function shortenArguments(written: string, most: number): string {
  if (estimateTokens(Buffer.byteLength(written)) <= most) return written;
  return JSON.stringify({ shortened: shortenText(written, most / 2) });
}

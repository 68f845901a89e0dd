import { tokensOf } from "./attachments.ts";
import type { ModelInput } from "./message.ts";
import { attachmentNotes, estimateTokens, messageTokens, rowOf } from "./model-row.ts";
import { type Turn, turnTokens } from "./turns.ts";

interface Fit {
  readonly turns: readonly Turn[];
  /** There is room for what goes before them. */
  readonly hasHead: boolean;
  /** Where the view begins, also if its first turns have to wait for a large newest one. */
  readonly fromSeq: number;
  readonly tokens: number;
}

/** The room of a history: its tokens, and how many the provider counts for each that is estimated. */
interface Room {
  readonly budget: number;
  readonly ratio: number;
  readonly viewFromSeq: number;
}

/** A text of a turn is large from here on, in estimated tokens. */
export const largeText = (budget: number) => Math.max(200, Math.floor(budget / 16));

/**
 * Chooses what of a chat a model gets (rules 5 to 7), in whole turns:
 *
 * 1. Everything from the start of the view before, while it fits.
 * 2. Large texts and files of the turns before the newest are shortened.
 * 3. The start moves to where half of the budget is filled, the newest turn being shortened too.
 * 4. The newest turn itself has the rest: its tool results are shortened, the oldest turns wait until it is
 *    no longer the newest, and its texts are shortened more. The words of its person are never cut.
 */
export function fit(
  turns: readonly Turn[],
  head: ModelInput | undefined,
  { budget, ratio, viewFromSeq }: Room,
): Fit {
  const limit = budget / ratio;
  const large = largeText(budget);
  const stable = turns.findIndex(({ seq }) => seq >= viewFromSeq);
  const known = turns.slice(stable < 0 ? -1 : stable);
  const headTokens = head === undefined ? 0 : messageTokens(head);
  const answer = (chosen: readonly Turn[], fromSeq: number, hasHead = true): Fit => {
    const estimate = turnTokens(chosen) + (hasHead ? headTokens : 0);
    return { turns: chosen, hasHead, fromSeq, tokens: Math.ceil(estimate * ratio) };
  };
  const start = known[0]?.seq ?? 0;
  if (headTokens + turnTokens(known) <= limit) return answer(known, start);

  const older = known.map((turn) => shortenTurn(turn, large));
  let size = headTokens + turnTokens(older);
  const remove = (turn: Turn | undefined) => {
    if (turn !== undefined) size -= turnTokens([turn]);
  };
  if (size > limit) while (older.length > 1 && size > limit / 2) remove(older.shift());
  const fromSeq = older[0]?.seq ?? start;

  remove(older.pop());
  const own = known.slice(-1);
  let newest = own;
  let most = Math.max(limit / 2, large);
  const isFull = () => size + turnTokens(newest) > limit;
  const shortenTo = (least: number) => {
    for (; isFull() && most >= least; most /= 2) newest = own.map((t) => shortenTurn(t, most, 1));
  };
  shortenTo(large);
  while (isFull() && older.length > 0) remove(older.shift());
  const hasHead = !isFull();
  if (!hasHead) size -= headTokens;
  shortenTo(20);
  return answer([...older, ...newest], fromSeq, hasHead);
}

/**
 * Shortens each text of a turn that is larger than this, and names larger files instead of handing them over.
 *
 * @param most in tokens.
 * @param keptRows how many rows from the first stay as they are.
 */
function shortenTurn(turn: Turn, most: number, keptRows = 0): Turn {
  if (turn.rows.every(({ tokens }) => tokens <= most)) return turn;
  const shorten = (message: ModelInput) => shortenMessage(message, most);
  const rows = turn.rows.map((row, index) =>
    index < keptRows ? row : rowOf(row.message, row.messages.map(shorten)),
  );
  return { ...turn, rows };
}

function shortenMessage(message: ModelInput, most: number): ModelInput {
  const content = shortenText(message.content, most);
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

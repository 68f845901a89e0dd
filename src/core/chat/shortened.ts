// A turn with its large texts shortened: what a model gets of it once the whole of it takes too much room.

import { tokensOf } from "./attachments.ts";
import { attachmentNotes, type ModelRow } from "./model-row.ts";
import { estimateTokens } from "./token-budget.ts";
import type { Turn } from "./turns.ts";

/**
 * Shortens each text, argument and result of a turn that is larger than this, and names larger files
 * instead of handing them over.
 *
 * @param most in tokens.
 * @param keptRows so many rows from the first stay as they are.
 */
export function shortenTurn(turn: Turn, most: number, keptRows = 0): Turn {
  const rows = turn.rows.map((row, index) => (index < keptRows ? row : shortenRow(row, most)));
  return { ...turn, rows };
}

function shortenRow(row: ModelRow, most: number): ModelRow {
  const { files = [] } = row;
  const named = files.filter((file) => tokensOf(file) > most);
  const notes = attachmentNotes(named);
  const text = shortenText(row.content, most);
  const pairs = row.pairs.map((pair) => {
    const { call, result } = pair;
    const called = { ...call.function, arguments: shortenArguments(call.function.arguments, most) };
    return {
      ...pair,
      call: { ...call, function: called },
      result: { ...result, content: shortenText(result.content, most) },
    };
  });
  const content = [text, notes].filter((each) => each !== "").join("\n\n");
  const short = { ...row, content, pairs };
  return named.length === 0 ? short : { ...short, files: files.filter((f) => !named.includes(f)) };
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

/** Keeps the form of the arguments, which providers check, and shortens the texts in it. */
function shortenArguments(written: string, most: number): string {
  if (estimateTokens(Buffer.byteLength(written)) <= most) return written;
  try {
    const given: unknown = JSON.parse(written, (_, value: unknown) =>
      typeof value === "string" ? shortenText(value, most / 2) : value,
    );
    const short = JSON.stringify(given);
    return estimateTokens(Buffer.byteLength(short)) <= most ? short : "{}";
  } catch {
    return "{}"; // not JSON, or so deep that it cannot be read
  }
}

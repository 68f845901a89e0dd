import type { Chats } from "../core/chat/chats.ts";
import type { Clock } from "../core/clock.ts";
import { type ErrorCode, isThroughlineError } from "../core/errors.ts";

/** A file to import. It is only read. */
export interface Source {
  /** The name of the file without its folder, such as `telegram_42.jsonl`. */
  readonly name: string;
  /** Every iteration begins at the first byte: a source is read more than once. */
  readonly bytes: AsyncIterable<Uint8Array>;
  /** Milliseconds since 1970. */
  readonly modifiedAt?: number;
}

export interface ImportOptions {
  readonly chats: Chats;
  readonly clock: Clock;
  /** A known zone, in which stamps without one are read. */
  readonly zone: string;
  /** The chat to import into, for a source of one chat. Default: the chat that the source names. */
  readonly into?: string | undefined;
  /** Brings back a chat that was forgotten. @default false */
  readonly force?: boolean | undefined;
  /** Counts what is in the sources, compares it with nothing, and writes nothing. @default false */
  readonly dryRun?: boolean | undefined;
}

/** Bytes that stay in the source alone, because nothing could be made of them. */
export interface SetAside {
  readonly source: string;
  /** From 1; 0: the file as a whole. */
  readonly line: number;
  /** Of the first byte, from the start of the file. */
  readonly offset: number;
  readonly bytes: number;
  readonly reason: string;
}

/** What became of one source, or of one entry of it. */
interface ChatReport {
  readonly chat_id: string;
  readonly source: string;
  /** Messages that were added. */
  readonly messages: number;
  /** Messages that were here already. */
  readonly skipped: number;
  /** Records that are no messages: kept, and never sent to a model. */
  readonly foreign: number;
  /** What was put right, with how often: sentences that quote nothing that was said. */
  readonly notes: readonly string[];
}

interface SessionReport {
  readonly chat_id: string;
  readonly source: string;
  /** `"kept"`: the chat has a session of its own, which stays. `"known"`: imported earlier. */
  readonly outcome: "imported" | "known" | "kept";
  readonly notes: readonly string[];
}

/** Left out, because a person had the chat forgotten here; it comes back only by force. */
interface Refusal {
  readonly chat_id: string;
  readonly source: string;
  readonly forgotten_at: string;
  readonly messages: number;
}

interface Failure {
  readonly source: string;
  readonly code: ErrorCode;
  readonly reason: string;
}

/** What an import did, or in a trial run would do. */
export interface ImportReport {
  readonly chats: ChatReport[];
  readonly sessions: SessionReport[];
  /** The first 1,000. */
  readonly quarantined: SetAside[];
  quarantined_count: number;
  foreign: number;
  readonly refused: Refusal[];
  /** Sources that failed: nothing from them was stored. */
  readonly failed: Failure[];
}

export function newReport(): ImportReport {
  const counts = { quarantined_count: 0, foreign: 0 };
  return { chats: [], sessions: [], quarantined: [], ...counts, refused: [], failed: [] };
}

export const maxListed = 1_000;

/**
 * Reports pieces that nothing could be made of.
 *
 * @param count how many there are, with those that are not listed.
 */
export function setAside(
  report: ImportReport,
  pieces: readonly SetAside[],
  count = pieces.length,
): void {
  report.quarantined_count += count;
  report.quarantined.push(...pieces.slice(0, maxListed - report.quarantined.length));
}

/** Counts equal notes, so that a million bad stamps are one line. */
export class Notes {
  readonly #counts = new Map<string, number>();

  add(...notes: readonly string[]): void {
    for (const note of notes) this.#counts.set(note, (this.#counts.get(note) ?? 0) + 1);
  }

  list(): readonly string[] {
    return [...this.#counts].map(([note, count]) =>
      count === 1 ? note : `${note} (${count} times)`,
    );
  }
}

/** What is wrong with one source stops no other. */
export async function attempt(report: ImportReport, source: string, work: () => Promise<void>) {
  try {
    await work();
  } catch (error) {
    const reason = error instanceof Error ? error.message : "";
    if (isThroughlineError(error) && codesOfSources.includes(error.code)) {
      report.failed.push({ source, code: error.code, reason });
    } else if (error instanceof Error && "syscall" in error) {
      report.failed.push({ source, code: "THROUGHLINE_UNAVAILABLE", reason });
    } else throw error;
  }
}

/** Says why a value is refused; `undefined`: it is not. */
export function refusalOf(check: () => void): string | undefined {
  try {
    check();
    return undefined;
  } catch (error) {
    if (!isThroughlineError(error)) throw error;
    return error.message;
  }
}

const codesOfSources = [
  "THROUGHLINE_INVALID",
  "THROUGHLINE_TOO_LARGE",
  "THROUGHLINE_CONFLICT",
  "THROUGHLINE_ID_CONFLICT",
  "THROUGHLINE_CORRUPT",
  "THROUGHLINE_NEWER_FORMAT",
];

import { invalid } from "../errors.ts";
import type { StoredRecord } from "../storage/log-store.ts";
import { type Compaction, readCompaction } from "./compaction.ts";
import { Marks } from "./marks.ts";
import { isControl, isMessage, type StoredMessage } from "./message.ts";
import type { ModelTarget } from "./model-row.ts";

/**
 * Reads a log backwards and keeps what is in scope (rules 1 and 2). Backwards, because a clear, a
 * replacement, a removal or a compaction lies after what it hides: what is read first decides on
 * what follows, so the newest part of a log means the same whether or not the older part is read.
 */
export class ScopeReader {
  readonly #newestFirst: StoredMessage[] = [];
  readonly #compactions: Compaction[] = [];
  readonly #marks = new Marks();
  /** By the id of a record: the newest mark about it. */
  readonly #markedAt = new Map<string, number>();
  /** Where records that have a mark were found. */
  readonly #foundAt = new Map<string, number>();
  #startSeq: number;
  readonly #unansweredId: string | undefined;
  /** The oldest record read. */
  #seq = Number.POSITIVE_INFINITY;

  constructor({ startSeq = 0, unansweredId }: HistoryOptions) {
    this.#startSeq = Math.max(0, startSeq);
    this.#unansweredId = unansweredId;
  }

  /** Everything in scope lies after this record. */
  get startSeq(): number {
    return this.#startSeq;
  }

  /** @returns `"outside"` when neither this record nor an older one is in scope. */
  add(record: StoredRecord): "inside" | "outside" {
    this.#seq = record.seq;
    if (isControl(record, "clear")) this.#startSeq = Math.max(this.#startSeq, record.seq);
    if (record.seq <= this.#startSeq) return "outside";
    if (this.#markedAt.has(record.id)) this.#foundAt.set(record.id, record.seq);
    const target = this.#marks.addOlder(record);
    if (target !== undefined && !this.#markedAt.has(target)) this.#markedAt.set(target, record.seq);
    if (isMessage(record)) this.#keep(record);
    else if (isControl(record, "compaction") && !this.#marks.has("removal", record.id)) {
      const compaction = readCompaction(record);
      if (compaction !== undefined) this.#compactions.push(compaction);
    }
    return "inside";
  }

  /** Oldest first. Those that are hidden reach no model: they name turns. */
  messages(): readonly StoredMessage[] {
    return this.#newestFirst.toReversed();
  }

  /**
   * The newest compaction that may be used. One that may tell what was hidden since, or what lies
   * before the scope, is passed over.
   *
   * @returns `"open"` when that cannot be told before older records are read.
   */
  compaction(): Compaction | "open" | undefined {
    for (const compaction of this.#compactions) {
      const state = this.#judge(compaction);
      if (state === "open") return "open";
      if (state === "usable") return compaction;
    }
    return undefined;
  }

  #keep(message: StoredMessage): void {
    // Only we set roles: what a person imported as a system message gives a model no orders.
    const isAnswer = message.role !== "user" && message.turn !== undefined;
    const isUnsaid = isAnswer && message.turn === this.#unansweredId;
    const shown = this.#marks.shown(message);
    const sent = shown !== undefined && !isUnsaid && !shown.hidden && message.role !== "system";
    if (sent) this.#newestFirst.push(message);
    else if (message.role === "user") this.#newestFirst.push({ ...message, hidden: true });
  }

  #judge({ upToSeq, afterSeq, asOfSeq }: Compaction): "usable" | "void" | "open" {
    if (upToSeq <= this.#startSeq || (afterSeq ?? this.#startSeq) < this.#startSeq) return "void";
    // A clear may lie between, or a record that hides something, or what that hides.
    if (this.#seq > upToSeq) return "open";
    for (const [id, seq] of this.#markedAt) {
      const foundAt = this.#foundAt.get(id);
      if (seq > asOfSeq && (foundAt === undefined || foundAt <= upToSeq)) return "void";
    }
    return "usable";
  }
}

export interface HistoryOptions extends ModelTarget {
  /** The view begins after this record at the earliest, and after the last clear that is read. @default 0 */
  readonly startSeq?: number | undefined;
  /** A user message whose answer is left out of the view, because it is being regenerated. */
  readonly unansweredId?: string | undefined;
  /** Context window of the model in tokens; absent: unknown. */
  readonly window?: number | undefined;
  /** @default (window - 4,096) * 0.75, window * 0.375 below 8,192, or 24,000 when it is unknown */
  readonly budgetTokens?: number | undefined;
  /**
   * At most so many messages, in whole turns from the newest; the newest turn is in whatever its
   * length. 0 or less is nothing. A limit for this view: do not store its `fromSeq` otherwise.
   * @default no limit
   */
  readonly lastMessages?: number | undefined;
  /** The `fromSeq` of the view before: the start stays there while it fits. */
  readonly viewFromSeq?: number | undefined;
  /**
   * How many tokens the provider counts for each that is estimated, a token for 3 bytes: more than 0.
   * @default 1
   */
  readonly ratio?: number | undefined;
}

/** Called for each turn. @throws ThroughlineError `THROUGHLINE_INVALID`: an option that is no whole number or token count. */
export function checkHistoryOptions(options: HistoryOptions): void {
  for (const name of ["lastMessages", "startSeq", "viewFromSeq"] as const) {
    const { [name]: count = 0 } = options;
    if (!Number.isSafeInteger(count)) throw invalid(`history: ${name} must be a whole number`);
  }
  for (const name of ["window", "budgetTokens"] as const) {
    const { [name]: tokens = 0 } = options;
    if (!(Number.isFinite(tokens) && tokens >= 0)) {
      throw invalid(`history: ${name} must be a number from 0`);
    }
  }
}

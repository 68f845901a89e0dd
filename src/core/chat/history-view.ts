import { aFunction, anObject, checkArgument } from "../options.ts";
import type { LogStore, StoredRecord } from "../storage/log-store.ts";
import { attachmentsOf } from "./attachments.ts";
import { type Compaction, summaryText } from "./compaction.ts";
import { fit, largeText } from "./history-fit.ts";
import { checkHistoryOptions, type HistoryOptions, ScopeReader } from "./history-scope.ts";
import { type Attachment, isMessage, type ModelInput, type StoredMessage } from "./message.ts";
import { withoutName } from "./person-name.ts";
import { historyBudget, messageTokens } from "./token-budget.ts";
import { lastTurns, type Turn, turnsOf } from "./turns.ts";

export interface HistoryView {
  /** Legal for every provider: user first, roles in turn, each call followed by its result. */
  readonly messages: readonly ModelInput[];
  /** Where the view begins. Give it back as `viewFromSeq`, so that prompt caches keep working. */
  readonly fromSeq: number;
  /** Estimated, and corrected by `ratio`. */
  readonly tokens: number;
}

/**
 * A chat's log as messages for a model. Pure; the records are not changed.
 *
 * Choices beside the rules: user messages that follow each other (an unanswered one, a summary) are
 * joined by a blank line, and so are assistant texts, because many chat templates refuse two alike in
 * a row. System messages of imported logs are left out: only we give a model orders. An empty user
 * message reads `[empty message]`. Lone surrogates become U+FFFD.
 *
 * @param records ascending by `seq` and without gaps, from anywhere at or before the start of the
 * scope up to the newest.
 * @throws ThroughlineError `THROUGHLINE_INVALID`: an option that is no whole number or token count.
 */
export function historyView(records: Iterable<StoredRecord>, options: HistoryOptions): HistoryView {
  checkArgument(Object(records)[Symbol.iterator], "what iterates over records", aFunction);
  checkArgument(options, "options", anObject);
  checkHistoryOptions(options);
  const scope = new ScopeReader(options);
  for (const record of [...records].reverse()) {
    if (scope.add(record) === "outside") break;
  }
  return viewOf(scope, options);
}

/** A history is read so many records at a time. */
export const pageRecords = 200;

/**
 * Reads a chat's log from its end, page by page, until its view is the view of the whole log: to the start of the
 * scope, until a summary covers the rest, or until the oldest turns that were read do not fit any more.
 *
 * One difference is left, to keep reading bounded: a compaction record that lies further back than
 * that is not found, and the view is without its summary.
 *
 * @param newest the first page, if it was read.
 * @throws ThroughlineError `THROUGHLINE_INVALID`, and what the store rejects with.
 */
export async function readHistory(
  log: Pick<LogStore, "page">,
  key: string,
  options: HistoryOptions,
  newest?: readonly StoredRecord[],
): Promise<HistoryView> {
  checkHistoryOptions(options);
  const scope = new ScopeReader(options);
  const room = roomOf(options);
  const large = largeText(room.budget);
  let tokens = 0;
  for (let before: number | undefined; before !== 1; ) {
    const known = before === undefined ? newest : undefined;
    const page = known ?? (await log.page(key, { before, limit: pageRecords, isShared: true }));
    if (!page.toReversed().every((record) => scope.add(record) !== "outside")) break;
    before = page[0]?.seq ?? 1;
    for (const record of page) if (isMessage(record)) tokens += Math.min(large, roughly(record));
    const compaction = scope.compaction();
    if (compaction === "open") continue;
    if (compaction !== undefined) {
      // With the turn in which the summary ends, all that it does not cover was read.
      const isCovered = ({ role, seq, hidden }: StoredMessage) =>
        role === "user" && seq <= compaction.upToSeq && !hidden;
      if (scope.messages().some(isCovered)) break;
    } else if (tokens * room.ratio > room.budget) {
      // The first turn may have been read in part.
      const turns = turnsOf(scope.messages(), options).slice(1);
      const { fromSeq } = fit(turns, undefined, { ...room, viewFromSeq: 0 });
      if (fromSeq > (turns[0]?.seq ?? 0)) return viewOf(scope, options, turns);
    }
  }
  return viewOf(scope, options);
}

/** Estimates a stored message before it is known what of it the model gets. */
function roughly(message: StoredMessage): number {
  const { content, tool_calls: toolCalls, provider_data: providerData } = message;
  return messageTokens({ content, toolCalls, providerData, files: attachmentsOf(message) });
}

function roomOf({ window, budgetTokens, ratio = 1 }: HistoryOptions) {
  return { budget: historyBudget(window, budgetTokens), ratio };
}

/** @param known the turns of the scope, if no summary stands for some of them. */
function viewOf(scope: ScopeReader, options: HistoryOptions, known?: readonly Turn[]): HistoryView {
  const found = scope.compaction();
  const compaction = found === "open" ? undefined : found;
  const { lastMessages, viewFromSeq = 0 } = options;
  const all = uncovered(
    known ?? turnsOf(scope.messages(), options, compaction?.upToSeq),
    compaction,
  );
  const turns = lastTurns(all, lastMessages, compaction?.upToSeq);
  if (turns.length === 0) {
    return { messages: [], fromSeq: Math.max(viewFromSeq, scope.startSeq + 1), tokens: 0 };
  }
  const head: ModelInput | undefined = compaction && {
    role: "user",
    content: summaryText(compaction),
  };
  const {
    turns: chosen,
    hasHead,
    fromSeq,
    tokens,
  } = fit(turns, head, {
    ...roomOf(options),
    viewFromSeq,
  });
  const messages: ModelInput[] = [];
  if (head !== undefined && hasHead) messages.push(head);
  for (const { rows } of chosen)
    for (const row of rows) for (const each of row.messages) add(messages, each);
  return { messages, fromSeq, tokens };
}

/**
 * Leaves out the turns that a summary stands for. One that it covers in part stays whole, and the newest
 * turn stays whatever it covers.
 */
function uncovered(turns: readonly Turn[], compaction: Compaction | undefined): readonly Turn[] {
  if (compaction === undefined) return turns;
  const { upToSeq } = compaction;
  return turns.filter(({ rows }, index) => {
    const next = turns[index + 1];
    return (
      next === undefined || rows.some(({ message: { seq } }) => seq > upToSeq && seq < next.seq)
    );
  });
}

/** Adds a message, joined with the last one where both are of one side and nothing but text would be joined. */
function add(messages: ModelInput[], message: ModelInput): void {
  const last = messages.at(-1);
  const joined = last && join(last, message);
  if (joined === undefined) messages.push(message);
  else messages[messages.length - 1] = joined;
}

/** Two user messages as one. A file that both have is in it once, and so is a name. */
export function joinUsers(
  a: Extract<ModelInput, { role: "user" }>,
  b: Extract<ModelInput, { role: "user" }>,
): ModelInput {
  const isSame = a.name !== undefined && a.name === b.name;
  const more = isSame ? withoutName(b.name, b.content) : b.content;
  const content = [a.content, more].filter((text) => text !== "").join("\n\n");
  const said = { role: "user", content, ...(isSame ? { name: a.name } : {}) } as const;
  const { files: first = [] } = a;
  const isNew = ({ sha256 }: Attachment) => !first.some((file) => file.sha256 === sha256);
  const files = [...first, ...(b.files ?? []).filter(isNew)];
  return files.length === 0 ? said : { ...said, files };
}

function join(a: ModelInput, b: ModelInput): ModelInput | undefined {
  if (a.role === "user" && b.role === "user") {
    return joinUsers(a, b);
  }
  if (a.role !== "assistant" || b.role !== "assistant") return undefined;
  // Calls are followed by their results, so `a` has none. Words that follow a thought may stay with it, but
  // a session that ends with a response has not seen what was said after it.
  if (a.providerData?.["response_id"] !== undefined || b.providerData !== undefined)
    return undefined;
  return { ...a, ...b, content: [a.content, b.content].filter((text) => text !== "").join("\n\n") };
}

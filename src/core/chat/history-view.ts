import { aFunction, anObject, checkArgument } from "../options.ts";
import type { StoredRecord } from "../storage/log-store.ts";
import { summaryText } from "./compaction.ts";
import { fit, uncovered } from "./history-fit.ts";
import { checkHistoryOptions, type HistoryOptions, ScopeReader } from "./history-scope.ts";
import type { Attachment, ModelInput } from "./message.ts";
import { withoutName } from "./person-name.ts";
import { historyBudget } from "./token-budget.ts";
import { lastTurns, turnsOf } from "./turns.ts";

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
  return viewOfScope(scope, options);
}

/** Makes the view of what was read so far. */
export function viewOfScope(scope: ScopeReader, options: HistoryOptions): HistoryView {
  const budget = historyBudget(options.window, options.budgetTokens);
  const found = scope.compaction();
  const compaction = found === "open" ? undefined : found;
  const all = turnsOf(scope.messages(), options, compaction?.upToSeq);
  const sendable = uncovered(all, compaction);
  const count = options.lastMessages ?? Number.POSITIVE_INFINITY;
  const limited = lastTurns(sendable, count, compaction?.upToSeq);
  if (limited.length === 0) {
    const fromSeq = Math.max(options.viewFromSeq ?? 0, scope.startSeq + 1);
    return { messages: [], fromSeq, tokens: 0 };
  }
  const head =
    compaction && ({ role: "user", content: summaryText(compaction) } satisfies ModelInput);
  const { ratio = 1, viewFromSeq = 0 } = options;
  const chosen = fit(limited, head, { budget, ratio, viewFromSeq });
  const { fromSeq, tokens } = chosen;
  const before = chosen.head === undefined ? [] : [chosen.head];
  const rows = chosen.turns.flatMap((turn) => turn.rows);
  return { messages: merged([...before, ...rows.flatMap((row) => row.messages)]), fromSeq, tokens };
}

/** Joins what follows each other from one side, where nothing but text would be joined. */
function merged(messages: readonly ModelInput[]): readonly ModelInput[] {
  const out: ModelInput[] = [];
  for (const message of messages) {
    const before = out.at(-1);
    const joined = before === undefined ? undefined : join(before, message);
    if (joined === undefined) out.push(message);
    else out[out.length - 1] = joined;
  }
  return out;
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

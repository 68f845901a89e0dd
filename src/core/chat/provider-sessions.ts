import { idConflict } from "../errors.ts";
import type { JsonObject } from "../json.ts";
import { callBack } from "../logger.ts";
import { anObject, checkArgument } from "../options.ts";
import { sameRecord } from "../storage/batch.ts";
import type { LogStore, StoredRecord } from "../storage/log-store.ts";
import { chatZone } from "./chat-head.ts";
import { type ChatLog, notFound } from "./chat-log.ts";
import { type FreshnessRules, judge, type Reason } from "./freshness.ts";
import { isMessage } from "./message.ts";
import {
  applyUsage,
  bucketOf,
  checkUsage,
  humanActed,
  newPeriod,
  openBuckets,
  type Period,
  type ProviderModel,
  type ProviderSession,
  resetProvider,
  rollOver,
  syncTarget,
  type UsageDelta,
} from "./period.ts";
import { controlId } from "./record-ids.ts";
import type { Transaction } from "./transaction.ts";

/** The flat fields of a period are the active provider's. */
type ActiveSession = Pick<
  ProviderSession,
  "session_id" | "message_count" | "total_cost_usd" | "total_tokens"
>;

/** The period of a chat, in the seed's schema. */
export interface PeriodView extends ProviderModel, ActiveSession {
  readonly chat_id: string;
  readonly created_at: string;
  readonly last_active: string;
  readonly generation: number;
  readonly provider_sessions: Period["provider_sessions"];
}

export interface Resolution {
  readonly period: PeriodView;
  /** The provider has nothing to resume. */
  readonly isNew: boolean;
  readonly reason: Reason;
  /** `"uncertain"`: the clock contradicts the stamps. */
  readonly clock: "certain" | "uncertain";
  /** What ended: the whole period, one provider's part, or nothing. */
  readonly ended: "period" | "provider" | "nothing";
}

export type { ProviderModel };

export interface Target {
  readonly provider?: string | undefined;
  readonly model?: string | undefined;
}

/** What one turn runs on. */
export interface TurnTarget extends ProviderModel {
  /** What cannot be asked now: the period goes back to it once it can. */
  readonly insteadOf?: ProviderModel | undefined;
}

interface ProviderSessionOptions {
  readonly rules: FreshnessRules;
  /** What a new period runs on when the call names nothing. */
  readonly provider: string;
  readonly model: string;
  /** Whether a turn of this process runs in the chat. */
  isRunning(chatId: string): boolean;
}

/** The whole period, or the part of the provider that the chat runs on. */
type EndedPart = "period" | "provider";

/**
 * Where each provider left off, per chat. Every call is durable before it returns, judged in one
 * place, and logged at debug with its reason.
 */
export class ProviderSessions {
  readonly #log: ChatLog;
  readonly #options: ProviderSessionOptions;
  readonly #onEnd: ((chatId: string, ended: EndedPart) => void)[] = [];

  constructor(log: ChatLog, options: ProviderSessionOptions) {
    this.#log = log;
    this.#options = options;
  }

  /**
   * The period to go on in, opened or rolled over if need be. Without arguments it runs on what the
   * period ran on; configuration counts only for a new period. No clock moves. While a turn of this
   * process runs in the chat, the period ends for no reason of time.
   *
   * @throws ThroughlineError `THROUGHLINE_INVALID`: a bad chat id or name.
   */
  async resolve(chatId: string, target: Target = {}): Promise<Resolution> {
    checkArgument(target, "target", anObject);
    const resolution = await this.#log.change(chatId, (transaction) => {
      const isQueued = this.#options.isRunning(chatId);
      return this.resolveIn(transaction, target, { isQueued });
    });
    if (resolution.ended === "period") this.announceEnd(chatId, "period");
    return resolution;
  }

  /**
   * `resolve` as part of a larger change. If the period ended, the caller says so to `announceEnd` once that is stored.
   *
   * @param options.isQueued what is to go on was said while a turn of the period ran.
   */
  async resolveIn(
    transaction: Transaction,
    target: Target | TurnTarget = {},
    options: { readonly isQueued?: boolean } = {},
  ): Promise<Resolution> {
    const { chatId, now, head } = transaction;
    const { rules, ...standard } = this.#options;
    const before = head.session ?? undefined;
    const provider = target.provider ?? before?.provider ?? standard.provider;
    const known = [before, standard].find((each) => each?.provider === provider);
    const model = target.model ?? known?.model ?? before?.model ?? "";
    const timeZone = chatZone(head);
    const verdict = judge({ state: before, provider, now, rules, timeZone, ...options });
    const { reason, ends, clock } = verdict;
    const { logger } = this.#log.ports;
    logger.debug({ chat: chatId, provider, reason, ends }, "period resolved");
    if (before === undefined) this.#open(transaction, { provider, model });
    else {
      if (ends !== "nothing") {
        const startSeq = await seqBeforeUnanswered(this.#log.logs, transaction);
        transaction.set({ session: verdict.state });
        const part = ends === "provider" ? provider : undefined;
        this.#end(transaction, part, { reason, before, startSeq });
      }
      const isChosen = target.provider !== undefined || target.model !== undefined;
      const insteadOf = "insteadOf" in target ? target.insteadOf : undefined;
      const preferred = isChosen ? insteadOf : before.preferred;
      const current = (ends === "nothing" ? verdict.state : transaction.head.session) ?? before;
      const session = syncTarget(current, { provider, model }, preferred);
      transaction.set({ session });
      // A choice of model or a corrected clock is a record too: it survives a restart.
      if (session !== before && ends === "nothing") targetRecord(transaction);
    }
    const period = transaction.head.session as Period;
    return {
      period: periodView(chatId, period),
      isNew: bucketOf(period, provider).session_id === "",
      reason,
      clock,
      ended: ends,
    };
  }

  /** The period as it is, without judging it; `undefined` when the chat has none. */
  async active(chatId: string): Promise<PeriodView | undefined> {
    const { head } = await this.#log.state(chatId);
    return head?.session ? periodView(chatId, head.session) : undefined;
  }

  /**
   * A person asks for a new period with every provider: a new generation, all buckets empty. The old
   * one stays readable. See `resetProvider` for one provider.
   */
  async reset(chatId: string, target: Target = {}): Promise<PeriodView> {
    checkArgument(target, "target", anObject);
    const period = await this.#log.change(chatId, (transaction) => {
      const before = transaction.head.session;
      if (before === null) return this.#open(transaction, target, true);
      transaction.set({ session: syncTarget(before, target) });
      return this.#end(transaction, undefined, { reason: "reset", before });
    });
    this.announceEnd(chatId, "period");
    return periodView(chatId, period);
  }

  /**
   * A person begins again with one provider: it no longer gets what was said before. The others keep their part.
   *
   * @param how `model`: the next turn runs on the provider and this model; otherwise the target stays. `isNext`: the
   *   next turn would run on this provider, so that it begins again without a part or a period, too.
   * @throws ThroughlineError `THROUGHLINE_NOT_FOUND`: without one of these, the chat has no part of this provider.
   */
  async resetProvider(
    chatId: string,
    provider: string,
    how: { readonly model?: string | undefined; readonly isNext?: boolean | undefined } = {},
  ): Promise<PeriodView> {
    checkArgument(how, "how", anObject);
    const { model, isNext = model !== undefined } = how;
    const period = await this.#log.change(chatId, (transaction) => {
      const known = transaction.head.session;
      const isOpen = known !== null && Object.hasOwn(openBuckets(known), provider);
      const isThere = isOpen || known?.provider === provider;
      if (!isNext && !isThere) {
        throw notFound(chatId, transaction.isNewChat ? "chat" : "provider session");
      }
      if (known === null) this.#open(transaction, model === undefined ? {} : { provider, model });
      const ended = this.#end(transaction, provider, { reason: "reset" });
      const acted = humanActed(ended, transaction.now);
      const session = model === undefined ? acted : syncTarget(acted, { provider, model });
      transaction.set({ session });
      return session;
    });
    if (isNext || period.provider === provider) this.announceEnd(chatId, "provider");
    return periodView(chatId, period);
  }

  /**
   * Adds what one attempt used. A delta is counted once, whatever happens to the call: `id` makes a
   * repeat a no-op, which answers as the first call did. A delta of a period or bucket that has ended
   * changes no total.
   *
   * @returns whether it was counted.
   * @throws ThroughlineError `THROUGHLINE_NOT_FOUND`: no chat. `THROUGHLINE_INVALID`.
   * @throws ThroughlineError `THROUGHLINE_ID_CONFLICT`: the id was used before, for another delta.
   */
  async update(chatId: string, delta: UsageDelta & { readonly id?: string }): Promise<boolean> {
    checkArgument(delta, "delta", anObject);
    return this.#log.changeExisting(chatId, async (transaction) => {
      const { id: given, ...rest } = delta;
      if (given === undefined) return this.updateIn(transaction, rest);
      const id = controlId("usage", given);
      const known = await this.#log.logs.find(chatId, id);
      return known === undefined ? this.updateIn(transaction, rest, id) : wasCounted(known, rest);
    });
  }

  /** `update` as part of a larger change. @returns whether it was counted. */
  updateIn(transaction: Transaction, delta: UsageDelta, id?: string): boolean {
    checkUsage(delta);
    const { chatId, head } = transaction;
    const counted = applyUsage(head.session, delta);
    const isCounted = typeof counted !== "string";
    // A late attempt cost what it cost: it is on record, and in no total of the new period.
    transaction.control("usage", { ...delta, rejected: isCounted ? undefined : counted }, id);
    if (isCounted) transaction.set({ session: counted });
    else {
      const fields = { chat: chatId, provider: delta.provider, reason: counted };
      this.#log.ports.logger.debug(fields, "usage came too late to be counted");
    }
    return isCounted;
  }

  /** Sets what the next turn runs on. No clock moves, no bucket changes. */
  async syncTarget(chatId: string, target: Target): Promise<PeriodView> {
    checkArgument(target, "target", anObject);
    const period = await this.#log.change(chatId, (transaction) => {
      const before = transaction.head.session;
      if (before === null) return this.#open(transaction, target);
      const next = syncTarget(before, target);
      if (next === before) return before;
      transaction.set({ session: next });
      targetRecord(transaction);
      return next;
    });
    return periodView(chatId, period);
  }

  /** Moves the person's clock, as part of a larger change. */
  humanActedIn(transaction: Transaction): void {
    const { session: period } = transaction.head;
    if (period !== null) transaction.set({ session: humanActed(period, transaction.now) });
  }

  /**
   * Calls back when a period ends, or a person begins again with what the chat runs on, so that what
   * lives no longer can go.
   */
  onEnd(listener: (chatId: string, ended: EndedPart) => void): void {
    this.#onEnd.push(listener);
  }

  /** Calls those back who asked for it (`onEnd`), once the change that ends a period or a part of it is stored. */
  announceEnd(chatId: string, ended: EndedPart): void {
    callBack(this.#onEnd, this.#log.ports.logger, chatId, ended);
  }

  /** Opens the first period of a chat. What was said before it is the start of it; a reset leaves that. */
  #open(transaction: Transaction, target: Target, isReset = false): Period {
    const { provider = this.#options.provider, model = this.#options.model } = target;
    const seq = transaction.control("session", { event: "opened", generation: 1, provider, model });
    const startSeq = isReset ? seq : 0;
    const first = { generation: 1, at: transaction.now, startSeq, provider, model };
    const session = newPeriod(first);
    transaction.set({ session });
    return session;
  }

  /**
   * Ends the part of a provider, or the period of a chat if none is named.
   *
   * @param ended `before`: the period as it last was. `startSeq`: the record after which the next one begins.
   */
  #end(
    transaction: Transaction,
    part: string | undefined,
    ended: { reason: Reason | "reset"; before?: Period; startSeq?: number | undefined },
  ): Period {
    const { session, view_from, reported, provider_start } = transaction.head;
    const { reason, before = session as Period } = ended;
    if (part === undefined) {
      const { provider, model } = session ?? before;
      const event = reason === "reset" ? "reset" : "rolled_over";
      const about = { event, reason, generation: before.generation + 1, provider, model };
      const seq = transaction.control("session", { ...about, previous: before as JsonObject });
      endPeriod(transaction, ended.startSeq ?? seq);
    } else {
      const about = { event: "provider_reset", provider: part, reason };
      const previous = bucketOf(before, part) as JsonObject;
      const seq = transaction.control("session", { ...about, previous });
      transaction.set({
        session: resetProvider(session ?? before, part),
        view_from: without(view_from, part),
        reported: without(reported, part),
        provider_start: { ...provider_start, [part]: ended.startSeq ?? seq },
      });
    }
    return transaction.head.session as Period;
  }
}

function without<T>(of: Readonly<Record<string, T>> = {}, name: string) {
  const { [name]: _, ...others } = of;
  return others;
}

/** Records what the next turn runs on. */
function targetRecord(transaction: Transaction): void {
  const { provider, model } = transaction.head.session as Period;
  transaction.control("session", { event: "target", provider, model });
}

/** Begins the next period of a chat, if it has one, after this record, with all that a head says of the last one. */
export function endPeriod(transaction: Transaction, startSeq: number): void {
  const { session } = transaction.head;
  transaction.set({
    session: session && rollOver(session, { at: transaction.now, startSeq }),
    open_turn: undefined,
    summary: undefined,
    view_from: undefined,
    reported: undefined,
    provider_start: undefined,
  });
}

export function periodView(chatId: string, state: Period): PeriodView {
  const { provider, model, generation } = state;
  const { session_id, message_count, total_cost_usd, total_tokens } = bucketOf(state, provider);
  return {
    chat_id: chatId,
    provider,
    model,
    created_at: state.started_at,
    last_active: state.human_at,
    generation,
    provider_sessions: openBuckets(state),
    session_id,
    message_count,
    total_cost_usd,
    total_tokens,
  };
}

/** What became of a delta when it was stored. */
function wasCounted(record: StoredRecord, delta: UsageDelta): boolean {
  const { id: _, seq: __, _type, kind, timestamp, rejected, ...stored } = record;
  const isSame = sameRecord(JSON.stringify(stored), JSON.stringify(delta));
  if (isSame) return rejected === undefined;
  throw idConflict("this id was used for something else");
}

/** At most so many records before the end of a chat are looked at. */
const unansweredRecords = 50;

/**
 * Where a period that begins by itself starts: before what the companion said on its own after the
 * last turn. The person's next message answers that, so the model must see it.
 *
 * @returns the number of the record before; `undefined`: the companion said nothing on its own.
 */
async function seqBeforeUnanswered(
  logs: Pick<LogStore, "page">,
  { chatId, head }: Transaction,
): Promise<number | undefined> {
  const { session: period, clear_seq: clearSeq = 0, provider_start: starts = {} } = head;
  const from = Math.max(period?.start_seq ?? 0, clearSeq, ...Object.values(starts));
  const page = await logs.page(chatId, { limit: unansweredRecords, isShared: true });
  const unanswered: number[] = [];
  for (const record of page.toReversed()) {
    if (record.seq <= from) break;
    if (!isMessage(record)) continue;
    const { role, turn, seq } = record;
    if (role !== "assistant" || turn !== undefined) {
      // Without the name of a turn, as in an import, the first words after a message are its answer.
      if (turn === undefined) unanswered.pop();
      break;
    }
    unanswered.push(seq);
  }
  const first = unanswered.at(-1);
  return first === undefined ? undefined : first - 1;
}

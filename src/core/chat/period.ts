import type { Json, JsonObject } from "../json.ts";
import {
  extensible,
  fitting,
  nullable,
  number,
  object,
  optional,
  own,
  record,
  required,
  text,
  whole,
  word,
} from "../shape.ts";
import { checkKey, isLongerThan } from "../storage/key.ts";
import { type Outcome, outcomes } from "./message.ts";
import { instantOf, stampOf } from "./stamp.ts";

/**
 * What one provider needs to go on within a period. Named as it is stored; keys that an import
 * brought are kept beside these.
 */
export interface ProviderSession extends JsonObject {
  /** The provider's own id; empty while there is none. */
  readonly session_id: string;
  readonly message_count: number;
  /** The known costs, in whole nano-dollars, written as dollars. */
  readonly total_cost_usd: number;
  readonly total_tokens: number;
  /** How many of them have no known cost, as where the model has no price. Absent: none. */
  readonly unpriced_tokens?: number | undefined;
  /** Counts the resets of this provider within the period, from 1. */
  readonly generation: number;
}

/** The period of one chat, as it is stored. Stamps are ISO 8601 in UTC with milliseconds. */
export interface Period extends JsonObject {
  /** Counts the periods of the chat, from 1. */
  readonly generation: number;
  readonly started_at: string;
  /**
   * Records of the chat with a greater `seq` belong to this period. Where a rule began it, what the
   * companion said on its own since the last turn is among them: it lies before the period's record.
   */
  readonly start_seq: number;
  /** When a person last acted. Nothing but a person moves it. */
  readonly human_at: string;
  /** An import had no such stamp: it is the moment of the import. */
  readonly human_at_assumed?: true | undefined;
  /** An import had a stamp without a zone: the home's zone was taken. */
  readonly tz_assumed?: true | undefined;
  /** The provider and model that the next turn runs on, not those that answered last (`provider_sessions`). */
  readonly provider: string;
  readonly model: string;
  /** What it is to run on as soon as that can be asked: until then `provider` and `model` stand in. */
  readonly preferred?: (ProviderModel & JsonObject) | undefined;
  readonly provider_sessions: Readonly<Record<string, ProviderSession>>;
}

export interface ProviderModel {
  readonly provider: string;
  readonly model: string;
}

/**
 * Bounds of names and ids in bytes, as UTF-8, and of totals. Up to so many dollars, nano-dollars survive being
 * written as a number of dollars: past 2^51 of them (2.2 million dollars) they would not.
 */
export const periodLimits = {
  nameBytes: 256,
  sessionIdBytes: 1024,
  costUsd: 1_000_000,
  count: Number.MAX_SAFE_INTEGER,
} as const;

/** A name or an id of at most so many bytes. */
export const key = (most: number) =>
  fitting(
    (value) =>
      typeof value === "string" &&
      /^[^\0]+$/.test(value) &&
      value.isWellFormed() &&
      !isLongerThan(value, most),
    "is missing or cannot be used",
    "",
  );
/** The name of a provider or model. */
export const name = key(periodLimits.nameBytes);
const count = whole(0, periodLimits.count);
const generation = whole(1, periodLimits.count);
const stamp = text(64);
const yes = fitting((value) => value === true, "must be true", true as const);
const target = { provider: name, model: text(periodLimits.nameBytes) };

/** A period as it is stored. */
export const periodShape = extensible<Period>({
  generation,
  started_at: stamp,
  start_seq: count,
  human_at: stamp,
  human_at_assumed: optional(yes),
  tz_assumed: optional(yes),
  ...target,
  preferred: optional(object<ProviderModel & JsonObject>(target)),
  provider_sessions: record(
    extensible<ProviderSession>({
      session_id: text(),
      message_count: count,
      total_cost_usd: number(0, periodLimits.costUsd),
      total_tokens: count,
      unpriced_tokens: optional(count),
      generation,
    }),
  ),
});

/**
 * Begins a period.
 *
 * @param first `at`: milliseconds since 1970. The period's start counts as its first human act.
 * @throws ThroughlineError `THROUGHLINE_INVALID`, `THROUGHLINE_TOO_LARGE`.
 */
export function newPeriod(
  first: ProviderModel & {
    readonly generation: number;
    readonly at: number;
    readonly startSeq: number;
  },
): Period {
  const at = stampOf(first.at);
  return {
    generation: first.generation,
    started_at: at,
    start_seq: first.startSeq,
    human_at: at,
    ...checkedTarget(first),
    provider_sessions: {},
  };
}

/** The provider's bucket; one that is not there reads as an empty one and is not created. */
export function bucketOf(state: Period, provider: string): ProviderSession {
  return own(state.provider_sessions, provider) ?? emptyBucket(1);
}

/** The buckets without those that a reset left behind empty: what people and exports are shown. */
export function openBuckets(state: Period): Readonly<Record<string, ProviderSession>> {
  const isOpen = (bucket: ProviderSession) =>
    bucket.generation === 1 ||
    bucket.session_id !== "" ||
    bucket.message_count + bucket.total_tokens + bucket.total_cost_usd > 0;
  const buckets = Object.entries(state.provider_sessions);
  return Object.fromEntries(buckets.filter(([, bucket]) => isOpen(bucket)));
}

/** The period after this one: its own start, no buckets, the chosen provider and model kept. */
export function rollOver(
  state: Period,
  next: { readonly at: number; readonly startSeq: number },
): Period {
  const { provider, model, preferred } = state;
  const period = newPeriod({ ...next, generation: state.generation + 1, provider, model });
  return preferred === undefined ? period : { ...period, preferred };
}

/**
 * Removes one provider's bucket. What is still on its way to it is rejected from now on, because the bucket's
 * generation has moved.
 */
export function resetProvider(state: Period, provider: string): Period {
  checkKey(provider, "provider", periodLimits.nameBytes);
  return withBucket(state, provider, emptyBucket(bucketOf(state, provider).generation + 1));
}

/**
 * Sets what the next turn runs on. What is left out stays, and so does every clock.
 *
 * @param preferred what this stands in for, if anything; kept when nothing is named.
 */
export function syncTarget(
  state: Period,
  named: { readonly [name in keyof ProviderModel]?: string | undefined } = {},
  preferred: ProviderModel | undefined = (named.provider ?? named.model) === undefined
    ? state.preferred
    : undefined,
): Period {
  const { provider = state.provider, model = state.model } = named;
  const target = checkedTarget({ provider, model });
  const { preferred: before, ...rest } = state;
  if (isSameTarget(target, state) && isSameTarget(before, preferred)) return state;
  const next = { ...rest, ...target } as Period;
  return preferred === undefined ? next : { ...next, preferred: { ...preferred } };
}

function isSameTarget(a: ProviderModel | undefined, b: ProviderModel | undefined): boolean {
  return a?.provider === b?.provider && a?.model === b?.model;
}

/** Moves the person's clock to `at`, milliseconds since 1970; never back. */
export function humanActed(state: Period, at: number): Period {
  const stamp = stampOf(at);
  if (at <= (instantOf(state.human_at) ?? Number.NEGATIVE_INFINITY)) return state;
  const { human_at_assumed: _, ...known } = state;
  return { ...known, human_at: stamp } as Period;
}

export function withBucket(state: Period, provider: string, bucket: ProviderSession): Period {
  return { ...state, provider_sessions: { ...state.provider_sessions, [provider]: bucket } };
}

/** The same period, in which no provider has a session of its own to resume. What they used stays. */
export function withoutSessionIds(state: Period): Period {
  const buckets = Object.entries(state.provider_sessions);
  const empty = buckets.map(([provider, bucket]) => [provider, { ...bucket, session_id: "" }]);
  return { ...state, provider_sessions: Object.fromEntries(empty) };
}

function emptyBucket(generation: number): ProviderSession {
  return { session_id: "", message_count: 0, total_cost_usd: 0, total_tokens: 0, generation };
}

function checkedTarget({ provider, model }: ProviderModel): ProviderModel {
  checkKey(provider, "provider", periodLimits.nameBytes);
  if (model !== "") checkKey(model, "model", periodLimits.nameBytes);
  return { provider, model };
}

/** What one attempt of a turn used, for the provider that it ran on. */
export interface UsageDelta {
  readonly turn: string;
  readonly provider: string;
  readonly model: string;
  /** Whole; negative to correct. Does not count when the attempt failed. */
  readonly messages: number;
  /** Dollars; negative to correct. Rounded to nano-dollars. `null`: not known, as without a price. */
  readonly cost_usd: number | null;
  /** Whole; negative to correct. */
  readonly tokens: number;
  readonly outcome: Outcome;
  /** The provider's id as the attempt left it. Absent or empty: the old one holds. */
  readonly session_id?: string | undefined;
  /** The period and the bucket that the attempt began in. */
  readonly generation: number;
  readonly bucket_generation: number;
}

const nanosPerDollar = 1_000_000_000;

/**
 * Adds what an attempt used to the bucket that it began in; the target and the clocks stay. Totals
 * stop at 0 and at `periodLimits`. The caller sees to it that one delta is applied once.
 *
 * @param state `null`: the period has ended, and no other began.
 * @returns the new state, the same object if nothing changed; or why the delta came too late.
 */
export function applyUsage(
  state: Period | null,
  delta: UsageDelta,
): Period | "ended_generation" | "ended_bucket" {
  if (delta.generation !== state?.generation) return "ended_generation";
  const bucket = bucketOf(state, delta.provider);
  if (delta.bucket_generation !== bucket.generation) return "ended_bucket";
  const { cost_usd, tokens } = delta;
  const messages = delta.outcome === "failed" ? 0 : delta.messages;
  const added: Record<string, Json> = {
    ...bucket,
    session_id: delta.session_id || bucket.session_id,
    message_count: addCounts(bucket.message_count, messages),
    total_cost_usd: addDollars(bucket.total_cost_usd, cost_usd ?? 0),
    total_tokens: addCounts(bucket.total_tokens, delta.tokens),
  };
  // Counted only once there are such tokens.
  const isUnpriced = cost_usd === null && tokens !== 0;
  if (isUnpriced) added["unpriced_tokens"] = addCounts(bucket.unpriced_tokens ?? 0, tokens);
  const isSame = JSON.stringify(added) === JSON.stringify(bucket);
  return isSame ? state : withBucket(state, delta.provider, added as ProviderSession);
}

function addCounts(total: number, count: number): number {
  return Math.min(Math.max(total + count, 0), periodLimits.count);
}

function addDollars(total: number, dollars: number): number {
  const nanos = Math.round(total * nanosPerDollar) + Math.round(dollars * nanosPerDollar);
  return Math.min(Math.max(nanos, 0) / nanosPerDollar, periodLimits.costUsd);
}

const amount = whole(-periodLimits.count, periodLimits.count);

const deltaShape = object(
  {
    outcome: word(outcomes),
    messages: amount,
    tokens: amount,
    generation: amount,
    bucket_generation: amount,
    cost_usd: nullable(number(-periodLimits.costUsd, periodLimits.costUsd)),
  },
  "left out",
);

/**
 * @throws ThroughlineError `THROUGHLINE_INVALID`, `THROUGHLINE_TOO_LARGE`: a number that is not finite, whole
 *   or within bounds, or a bad name or id.
 */
export function checkUsage(delta: UsageDelta): void {
  checkKey(delta.provider, "provider", periodLimits.nameBytes);
  if (delta.session_id !== undefined && delta.session_id !== "") {
    checkKey(delta.session_id, "session_id", periodLimits.sessionIdBytes);
  }
  required(deltaShape, delta, "usage");
}

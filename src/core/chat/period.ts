import type { JsonObject } from "../json.ts";
import { checkCount, checkKey } from "../storage/key.ts";
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
  readonly unpriced_tokens?: number;
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
  readonly human_at_assumed?: true;
  /** An import had a stamp without a zone: the home's zone was taken. */
  readonly tz_assumed?: true;
  /** The provider and model that the next turn runs on. */
  readonly provider: string;
  readonly model: string;
  /** What it is to run on as soon as that can be asked: until then `provider` and `model` stand in. */
  readonly preferred?: Preferred;
  readonly provider_sessions: Readonly<Record<string, ProviderSession>>;
}

interface Preferred extends JsonObject {
  readonly provider: string;
  readonly model: string;
}

/** Bounds of names and ids in bytes, as UTF-8. */
export const periodLimits = { nameBytes: 256, sessionIdBytes: 1024 } as const;

interface NewPeriod {
  readonly generation: number;
  /** Milliseconds since 1970. The period's start counts as its first human act. */
  readonly at: number;
  readonly startSeq: number;
  readonly provider: string;
  readonly model: string;
}

/** @throws ThroughlineError `THROUGHLINE_INVALID`, `THROUGHLINE_TOO_LARGE`. */
export function newPeriod(first: NewPeriod): Period {
  checkCount(first.generation, "generation", 1, Number.MAX_SAFE_INTEGER);
  checkCount(first.startSeq, "startSeq", 0, Number.MAX_SAFE_INTEGER);
  const at = stampOf(first.at);
  return {
    generation: first.generation,
    started_at: at,
    start_seq: first.startSeq,
    human_at: at,
    ...checkedTarget(first.provider, first.model),
    provider_sessions: {},
  };
}

/** The provider's bucket; one that is not there reads as an empty one and is not created. */
export function bucketOf(state: Period, provider: string): ProviderSession {
  const buckets = state.provider_sessions;
  const bucket = Object.hasOwn(buckets, provider) ? buckets[provider] : undefined;
  return bucket ?? emptyBucket(1);
}

/** Whether the provider starts over: it has no id to resume with. */
export function isNew(state: Period, provider: string): boolean {
  return bucketOf(state, provider).session_id === "";
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
  const { provider, model } = state;
  const period = newPeriod({ ...next, generation: state.generation + 1, provider, model });
  const preferred = preferredOf(state);
  return preferred === undefined ? period : { ...period, preferred };
}

/**
 * Removes one provider's bucket and makes that provider the target. What is still on its way to the
 * removed bucket is rejected from now on, because the bucket's generation has moved.
 *
 * @param options.humanAt milliseconds since 1970, if a person asked: moves the person's clock.
 */
export function resetProvider(
  state: Period,
  provider: string,
  model?: string,
  options: { readonly humanAt?: number } = {},
): Period {
  const target = syncTarget(state, provider, model);
  const bucket = emptyBucket(bucketOf(state, provider).generation + 1);
  const reset = withBucket(target, provider, bucket);
  return options.humanAt === undefined ? reset : humanActed(reset, options.humanAt);
}

/**
 * Sets what the next turn runs on. What is left out stays, and so does every clock.
 *
 * @param preferred what this stands in for, if anything; kept when nothing is named.
 */
export function syncTarget(
  state: Period,
  provider?: string,
  model?: string,
  preferred = provider === undefined && model === undefined ? preferredOf(state) : undefined,
): Period {
  const target = checkedTarget(provider ?? state.provider, model ?? state.model);
  const before = preferredOf(state);
  const same = isSameTarget(target, state) && isSameTarget(before, preferred);
  if (same) return state;
  const { preferred: _, ...rest } = state;
  const next = { ...rest, ...target } as Period;
  return preferred === undefined ? next : { ...next, preferred };
}

/** What the period is to run on again once it can be asked. An import may have brought a key of this name. */
export function preferredOf({ preferred }: Period): Preferred | undefined {
  const { provider, model } = (preferred ?? {}) as { provider?: unknown; model?: unknown };
  return typeof provider === "string" && typeof model === "string"
    ? { provider, model }
    : undefined;
}

function isSameTarget(a: Preferred | undefined, b: Preferred | undefined): boolean {
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

function checkedTarget(provider: unknown, model: unknown) {
  checkKey(provider, "provider", periodLimits.nameBytes);
  if (model !== "") checkKey(model, "model", periodLimits.nameBytes);
  return { provider, model };
}

import type { Json } from "../json.ts";
import { nullable, number, object, required, whole, word } from "../shape.ts";
import { checkKey } from "../storage/key.ts";
import { type Outcome, outcomes } from "./message.ts";
import { bucketOf, type Period, type ProviderSession, periodLimits, withBucket } from "./period.ts";

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

type UsageOutcome =
  | { readonly state: Period }
  | { readonly rejected: "ended_generation" | "ended_bucket" };

const nanosPerDollar = 1_000_000_000;

/**
 * Adds what an attempt used to the bucket that it began in; the target and the clocks stay. Totals
 * stop at 0 and at `periodLimits`. The caller sees to it that one delta is applied once.
 *
 * @param state `null`: the period has ended, and no other began.
 * @returns the new state, the same object if nothing changed; or why the delta came too late.
 */
export function applyUsage(state: Period | null, delta: UsageDelta): UsageOutcome {
  if (delta.generation !== state?.generation) return { rejected: "ended_generation" };
  const bucket = bucketOf(state, delta.provider);
  if (delta.bucket_generation !== bucket.generation) return { rejected: "ended_bucket" };
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
  return { state: isSame ? state : withBucket(state, delta.provider, added as ProviderSession) };
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

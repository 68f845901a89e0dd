import { misconfigured } from "../options.ts";
import { own } from "../shape.ts";
import type { Usage } from "./responder.ts";

/** What a model costs, in US dollars per million tokens. */
export interface Price {
  readonly inputPerMillionUsd: number;
  readonly outputPerMillionUsd: number;
  /**
   * Input that the provider read from its cache. Input written to a cache counts as plain input.
   *
   * @default inputPerMillionUsd
   */
  readonly cachedInputPerMillionUsd?: number | undefined;
}

/**
 * Prices by `provider/model`, the names that a chat's period carries. There is no built-in table:
 * prices change and a stale one is worse than none. What a model without an entry costs is unknown.
 */
export type Prices = Readonly<Record<string, Price>>;

/** Of an attempt whose provider never said what it used. */
export const unknownUsage: Usage = {
  inputTokens: undefined,
  outputTokens: undefined,
  cachedInputTokens: undefined,
  costUsd: undefined,
};

/**
 * The entry for a model, checked.
 *
 * @throws ThroughlineError `THROUGHLINE_CONFIGURATION`: one of its numbers is negative, not finite
 * or past 10^6.
 */
export function priceOf(
  prices: Prices | undefined,
  provider: string,
  model: string,
): Price | undefined {
  const name = `${provider}/${model}`;
  const price = own(prices ?? {}, name);
  if (price === undefined) return undefined;
  const { inputPerMillionUsd, outputPerMillionUsd, cachedInputPerMillionUsd = 0 } = price;
  for (const usd of [inputPerMillionUsd, outputPerMillionUsd, cachedInputPerMillionUsd]) {
    if (typeof usd === "number" && usd >= 0 && usd <= 1e6) continue;
    throw misconfigured(`the price of ${name} must be dollars per million tokens, 0 to 10^6`);
  }
  return price;
}

/** The counts of an attempt, as a provider reported them. */
export function counted(input?: number, output?: number, cached?: number): Usage {
  return {
    ...unknownUsage,
    inputTokens: count(input),
    outputTokens: count(output),
    cachedInputTokens: count(cached),
  };
}

/** What several requests used together. */
export function sumUsage(a: Usage, b: Usage): Usage {
  const add = (x: number | undefined, y: number | undefined) =>
    x === undefined || y === undefined ? undefined : x + y;
  const { cachedInputTokens: cached } = a;
  return {
    inputTokens: add(a.inputTokens, b.inputTokens),
    outputTokens: add(a.outputTokens, b.outputTokens),
    cachedInputTokens: add(cached ?? 0, b.cachedInputTokens) ?? cached,
    costUsd: add(a.costUsd, b.costUsd),
  };
}

function count(tokens: number | undefined): number | undefined {
  return tokens !== undefined && Number.isSafeInteger(tokens) && tokens >= 0 ? tokens : undefined;
}

/**
 * Dollars, a whole number of nano-dollars. Summed as integers, because sums of doubles drift; a
 * price of 1 USD per million tokens is 10^6 pico-dollars per token.
 */
export function costUsd(
  {
    inputTokens: input,
    outputTokens: output,
    cachedInputTokens: cached = 0,
  }: Omit<Usage, "costUsd">,
  price: Price | undefined,
): number | undefined {
  if (price === undefined || input === undefined || output === undefined) return undefined;
  const cachedPrice = price.cachedInputPerMillionUsd ?? price.inputPerMillionUsd;
  const pico =
    pricePerToken(price.inputPerMillionUsd) * BigInt(Math.max(0, input - cached)) +
    pricePerToken(cachedPrice) * BigInt(cached) +
    pricePerToken(price.outputPerMillionUsd) * BigInt(output);
  return Number((pico + 500n) / 1000n) / 1e9;
}

function pricePerToken(perMillionUsd: number): bigint {
  return BigInt(Math.round(perMillionUsd * 1e6));
}

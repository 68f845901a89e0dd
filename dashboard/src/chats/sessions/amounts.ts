import type { Chat, ProviderSession } from "../../api/openapi-types.ts";
import { cost, counted, noPrice } from "../../ui/in-words.ts";

interface Spent {
  readonly tokens: number;
  /** How many of them have no known cost. */
  readonly unpriced: number;
  readonly costUsd: number;
}

/** The cost, as far as it is known. */
export function spent({ unpriced, costUsd }: Spent): string {
  if (unpriced === 0) return cost(costUsd);
  if (costUsd === 0) return noPrice;
  return `${cost(costUsd)}, ${noPrice} for ${counted(unpriced, "token")}`;
}

export function spentIn(bucket: ProviderSession): Spent {
  const { total_tokens: tokens, total_cost_usd: costUsd, unpriced_tokens: unpriced = 0 } = bucket;
  return { tokens, unpriced, costUsd };
}

/** The models without a price, by the names that the configuration has for them. */
export function unpricedModels(chats: readonly Chat[]): readonly string[] {
  const names = chats.flatMap(({ provider, model, provider_sessions: buckets }) => {
    const bucket = buckets[provider];
    if (bucket === undefined || model === "") return [];
    return spentIn(bucket).unpriced > 0 ? [`${provider}/${model}`] : [];
  });
  return [...new Set(names)].sort();
}

interface ProviderTotal extends Spent {
  readonly provider: string;
  readonly chats: number;
  readonly messages: number;
}

/** A chat's buckets by provider: the one in use first, then by name. */
export function bucketsOf(chat: Chat): readonly (readonly [string, ProviderSession])[] {
  const isInUse = (name: string) => (name === chat.provider ? 0 : 1);
  return Object.entries(chat.provider_sessions).sort(
    ([a], [b]) => isInUse(a) - isInUse(b) || a.localeCompare(b),
  );
}

/** The sums of the current sessions for each provider, the most expensive first. */
export function totalsOf(chats: readonly Chat[]): ProviderTotal[] {
  const totals = new Map<string, ProviderTotal>();
  for (const chat of chats) {
    for (const [provider, bucket] of bucketsOf(chat)) {
      const sum = totals.get(provider) ?? {
        provider,
        chats: 0,
        messages: 0,
        tokens: 0,
        unpriced: 0,
        costUsd: 0,
      };
      totals.set(provider, {
        provider,
        chats: sum.chats + 1,
        messages: sum.messages + bucket.message_count,
        tokens: sum.tokens + bucket.total_tokens,
        unpriced: sum.unpriced + (bucket.unpriced_tokens ?? 0),
        costUsd: sum.costUsd + bucket.total_cost_usd,
      });
    }
  }
  return [...totals.values()].sort((a, b) => b.costUsd - a.costUsd || b.tokens - a.tokens);
}

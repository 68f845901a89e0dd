import type { Chat, ProviderSession } from "../../api/types.ts";

/** US dollars: to the cent, and below one dollar to a hundredth of it. */
export function cost(usd: number): string {
  const digits = usd === 0 || Math.abs(usd) >= 1 ? 2 : 4;
  return usd.toLocaleString(undefined, {
    ...{ style: "currency", currency: "USD", currencyDisplay: "narrowSymbol" },
    ...{ minimumFractionDigits: digits, maximumFractionDigits: digits },
  });
}

/** A number with its noun: "one chat", "1,204 tokens". */
export function counted(count: number, noun: string): string {
  return `${count.toLocaleString()} ${noun}${count === 1 ? "" : "s"}`;
}

export interface ProviderTotal {
  readonly provider: string;
  readonly chats: number;
  readonly messages: number;
  readonly tokens: number;
  readonly costUsd: number;
}

/** A chat's buckets by provider: the one in use first, then by name. */
export function bucketsOf(chat: Chat): readonly (readonly [string, ProviderSession])[] {
  const isInUse = (name: string) => (name === chat.provider ? 0 : 1);
  return Object.entries(chat.provider_sessions).sort(
    ([a], [b]) => isInUse(a) - isInUse(b) || a.localeCompare(b),
  );
}

/** What these chats' present sessions come to with each provider, the dearest first. */
export function totalsOf(chats: readonly Chat[]): ProviderTotal[] {
  const totals = new Map<string, ProviderTotal>();
  for (const chat of chats) {
    for (const [provider, bucket] of bucketsOf(chat)) {
      const sum = totals.get(provider) ?? {
        ...{ provider, chats: 0, messages: 0, tokens: 0, costUsd: 0 },
      };
      totals.set(provider, {
        provider,
        chats: sum.chats + 1,
        messages: sum.messages + bucket.message_count,
        tokens: sum.tokens + bucket.total_tokens,
        costUsd: sum.costUsd + bucket.total_cost_usd,
      });
    }
  }
  return [...totals.values()].sort((a, b) => b.costUsd - a.costUsd || b.tokens - a.tokens);
}

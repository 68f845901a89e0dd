/** The middle of the samples: a noisy neighbour moves it least. */
export function median(samples: readonly number[]): number {
  const sorted = [...samples].sort((a, b) => a - b);
  return sorted[sorted.length >> 1] ?? Number.NaN;
}

export function percentile(samples: readonly number[], share: number): number {
  const sorted = Float64Array.from(samples).sort();
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

/** In milliseconds where nothing else is said. */
export type Spread = Readonly<Record<"p50" | "p95" | "p99" | "max", number>>;

export function spread(samples: readonly number[]): Spread {
  const at = (share: number) => percentile(samples, share);
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99), max: at(1) };
}

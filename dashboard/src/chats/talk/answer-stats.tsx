import { useState } from "react";
import type { AnswerStats } from "../../api/openapi-types.ts";
import { cost, counted, howToPrice, noPrice, seconds } from "../../ui/amounts.ts";

/** How long an answer took; opened, what else it took. */
export function Stats({ stats }: { readonly stats: AnswerStats }) {
  const [isOpen, setIsOpen] = useState(false);
  return (
    <details className="stats" onToggle={(event) => setIsOpen(event.currentTarget.open)}>
      <summary>
        <span className="visually-hidden">What this answer took: </span>
        {seconds(stats.latency_ms)}
      </summary>
      {isOpen ? <StatsBody stats={stats} /> : null}
    </details>
  );
}

function StatsBody({ stats }: { readonly stats: AnswerStats }) {
  const { first_word_ms: firstMs, latency_ms: wholeMs, cost_usd: usd } = stats;
  return (
    <p>
      {tokens(stats.input_tokens)} in, {tokens(stats.output_tokens)} out.{" "}
      {firstMs === null ? "" : `First word after ${seconds(firstMs)}. `}
      Whole after {seconds(wholeMs)}.{" "}
      {usd === null ? `Cost: ${noPrice}. ${howToPrice}` : `Cost: ${cost(usd)}.`}
    </p>
  );
}

function tokens(count: number | null): string {
  return count === null ? "unknown tokens" : counted(count, "token");
}

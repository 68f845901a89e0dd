import type { Chat } from "../../api/openapi-types.ts";
import { counted, howToPrice } from "../../ui/in-words.ts";
import { providerName } from "../models/model-names.ts";
import { spent, totalsOf, unpricedModels } from "./amounts.ts";

interface Props {
  readonly chats: readonly Chat[];
  /** There are no other chats. */
  readonly isAll: boolean;
}

/** What the sessions of these chats cost, by provider. */
export function Totals({ chats, isAll }: Props) {
  const totals = totalsOf(chats);
  const costUsd = totals.reduce((usd, total) => usd + total.costUsd, 0);
  const tokens = totals.reduce((count, total) => count + total.tokens, 0);
  const unpriced = totals.reduce((count, total) => count + total.unpriced, 0);
  const models = unpricedModels(chats);
  return (
    <section className="totals" aria-label="Totals">
      <div>
        <p className="totals-sum">{spent({ tokens, unpriced, costUsd })}</p>
        <p className="hint">
          {counted(tokens, "token")} in the current sessions of{" "}
          {isAll ? counted(chats.length, "chat") : `the ${counted(chats.length, "chat")} below`}.
        </p>
      </div>
      <ul>
        {totals.map((total) => (
          <li key={total.provider}>
            <h2>{providerName(total.provider)}</h2>
            <p className="totals-cost">{spent(total)}</p>
            <p className="hint">
              {counted(total.tokens, "token")}, {counted(total.messages, "message")},{" "}
              {counted(total.chats, "chat")}
            </p>
          </li>
        ))}
      </ul>
      {models.length === 0 ? null : (
        <p className="hint totals-prices">
          No price is set for {models.join(", ")}. {howToPrice}
        </p>
      )}
    </section>
  );
}

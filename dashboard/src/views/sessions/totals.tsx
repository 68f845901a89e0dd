import type { Chat } from "../../api/types.ts";
import { cost, counted, totalsOf } from "./amounts.ts";

interface Props {
  readonly chats: readonly Chat[];
  /** These are all chats that there are. */
  readonly isAll: boolean;
}

/** What the sessions of the chats below come to, by provider. */
export function Totals({ chats, isAll }: Props) {
  const totals = totalsOf(chats);
  const sum = totals.reduce((usd, { costUsd }) => usd + costUsd, 0);
  const tokens = totals.reduce((count, total) => count + total.tokens, 0);
  return (
    <section className="totals" aria-label="In all">
      <div>
        <p className="totals-sum">{cost(sum)}</p>
        <p className="hint">
          {counted(tokens, "token")} in the present sessions of{" "}
          {isAll ? (chats.length === 1 ? "the one chat" : `all ${chats.length} chats`) : null}
          {isAll ? "." : `the ${counted(chats.length, "chat")} shown here.`}
        </p>
      </div>
      <ul>
        {totals.map(({ provider, costUsd, tokens: used, messages, chats: count }) => (
          <li key={provider}>
            <h2>{provider}</h2>
            <p className="totals-cost">{cost(costUsd)}</p>
            <p className="hint">
              {counted(used, "token")}, {counted(messages, "message")}, {counted(count, "chat")}
            </p>
          </li>
        ))}
      </ul>
    </section>
  );
}

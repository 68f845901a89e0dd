import type { Chat, ProviderSession } from "../../api/types.ts";
import { chatName } from "../../chats/chat-name.ts";
import { Button } from "../../ui/button.tsx";
import { ErrorNote } from "../../ui/error-note.tsx";
import { fullTime, relativeTime } from "../../ui/relative-time.ts";
import { bucketsOf, cost, counted } from "./amounts.ts";
import { ChatLink } from "./chat-link.tsx";
import type { Reset } from "./reset-dialog.tsx";
import type { SessionRow } from "./use-sessions.ts";

interface Props {
  readonly session: SessionRow;
  readonly onReset: (reset: Reset) => void;
}

/** One chat's session: since when it runs, and its part with each provider. */
export function ChatSession({ session, onReset }: Props) {
  const { row, chat, error, retry } = session;
  const title = chatName(row);
  return (
    <li className="card">
      <div className="session-head">
        <h2>
          <ChatLink chatId={row.chat_id} title={title} />
        </h2>
        {chat === undefined || chat.generation === 0 ? null : (
          <Button
            kind="quiet"
            aria-label={`Reset session of ${title}`}
            onClick={() => onReset({ chatId: row.chat_id, title })}
          >
            Reset session
          </Button>
        )}
      </div>
      <p className="hint session-words">
        {chat === undefined ? null : sessionInWords(chat)}
        {chat?.running === true ? <span className="tag tag-accent">answering</span> : null}
        {row.damaged ? <span className="tag tag-danger">damaged</span> : null}
      </p>
      {error === null ? null : <ErrorNote error={error} retry={retry} />}
      {chat === undefined ? null : (
        <ul className="buckets" aria-label="Providers">
          {bucketsOf(chat).map(([provider, bucket]) => (
            <Bucket
              key={provider}
              {...{ chat, provider, bucket }}
              onReset={() => onReset({ chatId: row.chat_id, title, provider })}
            />
          ))}
        </ul>
      )}
    </li>
  );
}

interface BucketProps {
  readonly chat: Chat;
  readonly provider: string;
  readonly bucket: ProviderSession;
  readonly onReset: () => void;
}

function Bucket({ chat, provider, bucket, onReset }: BucketProps) {
  const isInUse = provider === chat.provider;
  return (
    <li>
      <div className="bucket-name">
        <strong>{provider}</strong> {isInUse ? <span>{chat.model}</span> : null}
        <p className="hint" title={bucket.session_id}>
          {bucket.session_id === "" ? "no id of its own yet" : <code>{bucket.session_id}</code>}
        </p>
      </div>
      <p>{counted(bucket.message_count, "message")}</p>
      <p>{counted(bucket.total_tokens, "token")}</p>
      <p>{cost(bucket.total_cost_usd)}</p>
      <Button kind="quiet" aria-label={`Reset ${provider} in this session`} onClick={onReset}>
        Reset
      </Button>
    </li>
  );
}

function sessionInWords(chat: Chat): string {
  if (chat.generation === 0) return "No session yet.";
  const since = chat.created_at === "" ? "" : ` since ${fullTime(chat.created_at)}`;
  const active = relativeTime(chat.last_active);
  return `Session ${chat.generation}${since}${active === "" ? "" : `, last talked in ${active}`} `;
}

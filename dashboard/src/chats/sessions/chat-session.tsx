import type { Chat, ProviderSession } from "../../api/openapi-types.ts";
import { Button } from "../../ui/button.tsx";
import { ErrorNote } from "../../ui/error-note.tsx";
import { counted, fullTime } from "../../ui/in-words.ts";
import { When } from "../../ui/time.tsx";
import { ChatLink, chatName, type NamedChat } from "../chat-link.tsx";
import { providerName } from "../models/model-names.ts";
import { bucketsOf, spent, spentIn } from "./amounts.ts";
import type { SessionRow } from "./use-sessions.ts";

/** What is to be reset: the session with one provider, or all of a chat. */
export interface WantedReset {
  readonly chat: NamedChat;
  readonly provider?: string | undefined;
  readonly all?: true | undefined;
}

interface Props {
  readonly session: SessionRow;
  readonly onReset: (reset: WantedReset) => void;
}

/** The sessions of one chat: since when, and with which providers. */
export function ChatSession({ session, onReset }: Props) {
  const { row, chat, isPending, error, retry } = session;
  const title = chatName(row);
  return (
    <li className="card" tabIndex={-1}>
      <div className="session-head">
        <h2>
          <ChatLink chatId={row.chat_id} title={row.title} />
        </h2>
        {chat === undefined || chat.generation === 0 ? null : (
          <Button
            kind="quiet"
            aria-label={`Start a new session of ${title}`}
            onClick={() => onReset({ chat: row, all: true })}
          >
            New session…
          </Button>
        )}
      </div>
      <p className="hint session-words">
        {chat === undefined ? "\u00a0" : <Facts chat={chat} />}
        {chat?.running === true ? <span className="tag tag-accent">answering</span> : null}
        {row.damaged ? <span className="tag tag-danger">damaged</span> : null}
      </p>
      <ErrorNote error={error} retry={retry} />
      {isPending ? <div className="buckets buckets-to-come" /> : null}
      {chat === undefined ? null : (
        <ul className="buckets" aria-label="Providers">
          {bucketsOf(chat).map(([provider, bucket]) => (
            <Bucket
              key={provider}
              chat={chat}
              provider={provider}
              bucket={bucket}
              onReset={() => onReset({ chat: row, provider })}
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
        <strong>{providerName(provider)}</strong>{" "}
        {isInUse && provider !== "offline" ? <span>{chat.model}</span> : null}
        <p className="hint clip" title={bucket.session_id}>
          {bucket.session_id === "" ? "no session id yet" : <code>{bucket.session_id}</code>}
        </p>
      </div>
      <div className="bucket-numbers">
        <p>{counted(bucket.message_count, "message")}</p>
        <p>{counted(bucket.total_tokens, "token")}</p>
        <p>{spent(spentIn(bucket))}</p>
      </div>
      <Button
        kind="quiet"
        aria-label={`Reset the session with ${providerName(provider)}`}
        onClick={onReset}
      >
        Reset…
      </Button>
    </li>
  );
}

function Facts({ chat }: { readonly chat: Chat }) {
  if (chat.generation === 0) return "No session yet.";
  const since = chat.created_at === "" ? "" : ` since ${fullTime(chat.created_at)}`;
  const { last_active: at } = chat;
  return (
    <>
      {`Session ${chat.generation}${since}`}
      {at === "" ? null : ", last active "}
      <When at={at} />{" "}
    </>
  );
}

import { detailOf, ProblemError } from "../../api/client.ts";
import { Button } from "../../ui/button.tsx";
import { ProviderWords } from "../../ui/error-note.tsx";
import { sentence } from "../../ui/plain-words.ts";
import { useNow } from "../../ui/time.tsx";
import { isOnItsWay, type Live, type Waiting } from "./feed-state.ts";
import { FileChips } from "./files/file-chips.tsx";
import { Markdown } from "./markdown.tsx";
import { Reasoning } from "./steps.tsx";

/** The answer as it comes. It is read out once it is whole, not word by word. */
export function LiveRow({ live, stop }: { readonly live: Live; readonly stop: () => void }) {
  return (
    <article className="message message-assistant" aria-busy={live.isBroken !== true}>
      <h2 className="visually-hidden">Companion</h2>
      {live.reasoning === "" ? null : <Reasoning text={live.reasoning} />}
      {live.text === "" ? null : <Markdown text={live.text} isLive />}
      {live.isBroken === true ? (
        <p className="hint broken" role="status">
          The connection was lost. The answer continues once Throughline is back.
        </p>
      ) : (
        <>
          {live.retrying === undefined ? null : <Retry retrying={live.retrying} stop={stop} />}
          <Thinking isStopping={live.isStopping} />
        </>
      )}
    </article>
  );
}

interface RetryProps {
  readonly retrying: NonNullable<Live["retrying"]>;
  readonly stop: () => void;
}

/** The provider could not take the call: why, and when it is called again. */
function Retry({ retrying, stop }: RetryProps) {
  const { reason, detail, attempt, atMs } = retrying;
  const seconds = Math.max(0, Math.ceil((atMs - useNow()) / 1_000));
  return (
    <div className="row retry">
      <p>
        <span role="status">{sentence(reason)}</span>{" "}
        <span>
          {seconds === 0 ? "Retrying now" : `Retrying in ${seconds} s`} (attempt {attempt}).
        </span>
      </p>
      <Button kind="quiet" className="small" onClick={stop}>
        Stop
      </Button>
      <ProviderWords words={detail} />
    </div>
  );
}

const wave = "M2 11c6 0 6-6 12-6s6 6 12 6 6-6 12-6 6 6 8 6";

function Thinking({ isStopping }: { readonly isStopping: boolean }) {
  return (
    <p className="hint thinking" aria-hidden="true">
      <svg viewBox="0 0 48 16" width="48" height="16" aria-hidden="true">
        <path d={wave} />
        <path d={wave} className="thinking-dash" />
      </svg>
      {isStopping ? <span>Stopping</span> : null}
    </p>
  );
}

interface WaitingRowProps {
  readonly waiting: Waiting;
  readonly resend: () => void;
  readonly toDraft: () => void;
}

/** A message that was sent and is not in the chat yet. */
export function WaitingRow({ waiting, resend, toDraft }: WaitingRowProps) {
  const { content, state, files = [] } = waiting;
  const isStuck = !isOnItsWay(waiting);
  const isLost = files.some(({ file }) => file === undefined);
  return (
    <article className={`message message-user ${isStuck ? "is-stuck" : "is-waiting"}`}>
      <h2 className="visually-hidden">You</h2>
      <FileChips files={files} />
      {content === "" ? null : (
        <p className="bubble" dir="auto">
          {content}
        </p>
      )}
      <footer className="row fine message-foot">
        {isStuck ? (
          <>
            <span className="stuck" role="alert">
              {reasonOf(waiting)}
              {isLost ? " Its files did not survive the reload: attach them again." : ""}
            </span>
            {isLost ? null : (
              <Button kind="quiet" className="small" onClick={resend}>
                Send again
              </Button>
            )}
          </>
        ) : (
          <span className="tag">{state === "waiting" ? "Queued" : "Sending"}</span>
        )}
        {state === "waiting" ? null : (
          <Button kind="quiet" className={isStuck ? "small" : "small late"} onClick={toDraft}>
            Move to draft
          </Button>
        )}
      </footer>
    </article>
  );
}

function reasonOf({ state, error }: Waiting): string {
  if (state === "lost")
    return "Not answered. The companion restarted before it reached this message.";
  if (state === "unsure")
    return "This may not have been sent: the page was closed before the server confirmed it.";
  const isUnsent = error instanceof ProblemError && error.status === 0;
  return `${isUnsent ? "Not sent:" : "Not answered."} ${detailOf(error)}`;
}

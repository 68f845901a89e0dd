import { type ReactNode, useEffect, useRef } from "react";
import type { PackageContent } from "../api/openapi-types.ts";
import { ChatLink } from "../chats/chat-link.tsx";
import { Markdown } from "../chats/talk/markdown.tsx";
import { Button } from "../ui/button.tsx";
import { QueryError } from "../ui/error-note.tsx";
import { Icon } from "../ui/icon.tsx";
import { fullTime } from "../ui/in-words.ts";
import { Loading } from "../ui/page.tsx";
import { plainWords } from "../ui/plain-words.ts";
import { MomentChanges } from "./moment-changes.tsx";
import { Rating } from "./moment-item.tsx";
import { MomentMedia } from "./moment-media.tsx";
import { useMoment, useMomentStats } from "./use-moments.ts";
import { channelInWords, countsInWords, speakers, uploadInWords } from "./words.ts";

interface Props {
  readonly name: string;
  readonly onClose: () => void;
  /** It was deleted. */
  readonly onGone: () => void;
}

/** One package: what was said, seen and heard, and what can be done with it. */
export function MomentDetail({ name, onClose, onGone }: Props) {
  const query = useMoment(name);
  const box = useRef<HTMLElement>(null);
  useEffect(() => box.current?.focus(), []);
  const { data } = query;
  const isRetracted = (data?.status?.retracted ?? null) !== null;
  const changes = (
    <MomentChanges
      name={name}
      isRetracted={isRetracted}
      isPreserved={(data?.status?.preserved ?? null) !== null}
      damage={data?.incomplete ?? []}
      onGone={onGone}
    />
  );
  return (
    <section ref={box} className="card moment" aria-label="Moment" tabIndex={-1}>
      <Button kind="quiet" className="moment-close" onClick={onClose}>
        <Icon name="back" size={17} />
        <span className="moment-close-all">All moments</span>
        <span className="moment-close-it">Close</span>
      </Button>
      <QueryError query={query} />
      {query.isPending ? <Loading label="Loading the moment" /> : null}
      {data === undefined ? changes : <Content content={data} name={name} changes={changes} />}
    </section>
  );
}

interface ContentProps {
  readonly content: PackageContent;
  readonly name: string;
  readonly changes: ReactNode;
}

function Content({ content, name, changes }: ContentProps) {
  const { feedback, status } = content;
  const { correction, chat_id: chatId } = feedback;
  const retracted = status?.retracted ?? null;
  return (
    <>
      <header className="stack moment-head">
        <p className="moment-line">
          <Rating sentiment={feedback.sentiment} />
          <span className="hint">{fullTime(feedback.timestamp * 1000)}</span>
          {chatId === null ? null : <ChatLink chatId={chatId} />}
        </p>
        <h2 dir="auto">{plainWords(feedback.what)}</h2>
        <Facts feedback={feedback} status={status} />
      </header>
      <MomentMedia name={name} content={content} />
      {retracted === null ? null : (
        <p>
          Retracted {fullTime(retracted.timestamp * 1000)}
          {retracted.reason === null ? "" : `: ${retracted.reason}`}
        </p>
      )}
      {correction === null ? null : (
        <div>
          <h3>{correction.kind === "replacement" ? "It should have said" : "Note"}</h3>
          <blockquote className="moment-text" dir="auto">
            {correction.text}
          </blockquote>
        </div>
      )}
      <Conversation content={content} />
      {changes}
    </>
  );
}

function Facts({ feedback, status }: Pick<PackageContent, "feedback" | "status">) {
  const { data } = useMomentStats();
  const how = channelInWords(feedback);
  const preserved = status?.preserved ?? null;
  return (
    <dl className="hint moment-facts">
      <dt>Contains</dt>
      <dd>{countsInWords(feedback)}</dd>
      {how === "" ? null : (
        <>
          <dt>Reaction</dt>
          <dd dir="auto">{how}</dd>
        </>
      )}
      <dt>Stored</dt>
      <dd>{uploadInWords(feedback.consent.upload, status, data?.storage_mode)}</dd>
      {preserved === null ? null : (
        <>
          <dt>Preserved</dt>
          <dd>Not removed when old moments are. {preserved.reason ?? ""}</dd>
        </>
      )}
    </dl>
  );
}

function Conversation({ content: { messages, feedback } }: { readonly content: PackageContent }) {
  const { index = -1, count = 0 } = feedback.target ?? {};
  return (
    <section aria-label="Messages">
      <ol className="stack moment-said">
        {messages.map(({ id, seq, role, text }, place) => {
          const isRated = place >= index && place < index + count && role === "ASSISTANT";
          return (
            <li key={`${seq} ${id}`} className={isRated ? "is-rated" : ""}>
              <h3>
                {speakers[role]}
                {isRated ? <span className="tag">Rated answer</span> : null}
              </h3>
              {role === "ASSISTANT" ? (
                <Markdown text={text} />
              ) : (
                <p className="moment-text" dir="auto">
                  {text}
                </p>
              )}
            </li>
          );
        })}
      </ol>
    </section>
  );
}

import type { Feedback, Package } from "../api/openapi-types.ts";
import { Icon } from "../ui/icon.tsx";
import { plainWords } from "../ui/plain-words.ts";
import { When } from "../ui/time.tsx";
import { frameAt, timelineOf } from "./timeline.ts";
import { momentPath } from "./use-moments.ts";
import { countsInWords, isUploaded, ratings, states } from "./words.ts";

interface Props {
  readonly entry: Package;
  readonly isOpen: boolean;
  readonly open: () => void;
}

/** One package in the list; a press opens it. */
export function MomentItem({ entry, isOpen, open }: Props) {
  const { name, feedback, status, state, detail } = entry;
  return (
    <li>
      <button
        type="button"
        id={`moment-${name}`}
        className="card moment-item"
        aria-current={isOpen ? "true" : undefined}
        onClick={open}
      >
        <Thumbnail name={name} feedback={feedback} />
        <span className="moment-told">
          {feedback === null ? <span className="moment-what">{name}</span> : <Told {...feedback} />}
          <span className="moment-tags">
            {state === "sealed" ? null : (
              <span className={`tag ${state === "damaged" ? "tag-danger" : ""}`}>
                {states[state]}
              </span>
            )}
            {(status?.preserved ?? null) === null ? null : <span className="tag">Preserved</span>}
            {isUploaded(status) ? <span className="tag">Uploaded</span> : null}
            {(status?.retracted ?? null) === null ? null : <span className="tag">Retracted</span>}
          </span>
          {detail === null ? null : <span className="hint">{detail}</span>}
        </span>
      </button>
    </li>
  );
}

/** The picture at the reaction; without pictures, a sign of what there is. */
function Thumbnail({ name, feedback }: Pick<Package, "name" | "feedback">) {
  const line = feedback === null ? undefined : timelineOf(feedback);
  const frame = line && frameAt(line, 0);
  return (
    <span className="moment-thumbnail" aria-hidden="true">
      {frame === undefined ? (
        <Icon name={line === undefined ? "talk" : "speaker"} size={22} />
      ) : (
        <img src={`${momentPath(name)}/${frame.file}`} alt="" loading="lazy" decoding="async" />
      )}
    </span>
  );
}

function Told(feedback: Feedback) {
  const { timestamp, sentiment, what, trigger } = feedback;
  return (
    <>
      <span className="moment-line">
        <Rating sentiment={sentiment} />
        <When className="hint" at={timestamp * 1000} />
        <span className="hint moment-counts">{countsInWords(feedback)}</span>
      </span>
      <span className="moment-what" dir="auto">
        {plainWords(what)}
      </span>
      {trigger === "" || trigger === what ? null : (
        <span className="hint moment-trigger" dir="auto">
          {trigger}
        </span>
      )}
    </>
  );
}

/** Liked or not, in a word and a sign. */
export function Rating({ sentiment }: Pick<Feedback, "sentiment">) {
  const isLiked = sentiment === "positive";
  return (
    <span className={`tag moment-rating ${isLiked ? "tag-accent" : "tag-danger"}`}>
      <Icon name={isLiked ? "like" : "dislike"} size={14} />
      {ratings[sentiment]}
    </span>
  );
}

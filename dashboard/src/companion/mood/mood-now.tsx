import type { Emotions } from "../../api/openapi-types.ts";
import { fullTime, spanInWords } from "../../ui/in-words.ts";
import { Face } from "./face.tsx";
import { moodReason, moodSentence, moodTitle } from "./words.ts";

interface Props {
  readonly emotions: Emotions;
  /** Seconds since the emotions were loaded. */
  readonly elapsed: number;
  /** The server's time in epoch milliseconds. */
  readonly now: number;
}

/** The mood in a word or two, why, its face, and until when it was set by hand if it was. */
export function MoodNow({ emotions, elapsed, now }: Props) {
  const { mood, mood_override: override, voice_state: voice } = emotions;
  const isAsleep = emotions.sleep_state === "asleep";
  const reason = moodReason(emotions, elapsed);
  return (
    <section className="mood-now" aria-label="Current mood">
      <Face mood={isAsleep ? "asleep" : mood} />
      <div>
        <p className="mood-word" aria-live="polite">
          {moodTitle(emotions)}
        </p>
        {reason === "" ? null : <p className="mood-reason">{reason}</p>}
        <p className="mood-sentence">{moodSentence(emotions)}</p>
        {override === null || Date.parse(override.until) < now ? null : (
          <p className="mood-note">
            Set by hand until <time dateTime={override.until}>{fullTime(override.until)}</time>, for
            another {spanInWords((Date.parse(override.until) - now) / 1000)}. The levels keep
            changing.
          </p>
        )}
        {voice === "idle" ? null : <p className="mood-note">Voice: {voice}.</p>}
      </div>
    </section>
  );
}

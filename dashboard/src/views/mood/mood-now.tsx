import type { Emotions } from "../../api/types.ts";
import { spanInWords } from "./durations.ts";
import { Face } from "./face.tsx";
import { asTitle, moodSentence } from "./words.ts";

interface Props {
  readonly emotions: Emotions;
  /** The server's time in epoch milliseconds. */
  readonly now: number;
}

/** The mood in one word, with its face, and until when it was set by hand if it was. */
export function MoodNow({ emotions, now }: Props) {
  const { mood, mood_override: override, voice_state: voice } = emotions;
  return (
    <section className="mood-now" aria-label="The mood now">
      <Face mood={mood} />
      <div>
        <p className="mood-word" aria-live="polite">
          {asTitle(mood)}
        </p>
        <p className="mood-sentence">{moodSentence(mood)}</p>
        {override === null || Date.parse(override.until) < now ? null : (
          <p className="mood-note">
            Set by hand until <time dateTime={override.until}>{clockTime(override.until)}</time>,{" "}
            {spanInWords((Date.parse(override.until) - now) / 1000)} from now. Underneath, the
            levels go on.
          </p>
        )}
        {voice === "idle" ? null : <p className="mood-note">Its voice is {voice}.</p>}
      </div>
    </section>
  );
}

function clockTime(at: string): string {
  return new Date(at).toLocaleTimeString(undefined, {
    ...{ hour: "2-digit", minute: "2-digit", second: "2-digit" },
  });
}

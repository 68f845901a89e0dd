import "./mood-link.css";
import { Link } from "wouter";
import { Face } from "./mood/face.tsx";
import { useFeeling } from "./mood/use-emotions.ts";
import { moodTitle } from "./mood/words.ts";
import { usePats } from "./pat.tsx";
import { useCompanionRun } from "./use-companion.ts";

/** The companion in the head of a chat: its face and its mood in a word, which lead to Mood. */
export function MoodLink() {
  return useCompanionRun().data === undefined ? null : <FaceAndWord />;
}

function FaceAndWord() {
  const feeling = useFeeling();
  const pats = usePats();
  if (feeling === undefined) return null;
  const isAsleep = feeling.sleep_state === "asleep";
  return (
    <Link className="mood-link" to="/mood" title="Open Mood">
      {/* Another element for each pat: its movement begins at the beginning. */}
      <span key={pats} className={pats === 0 ? "mood-link-face" : "mood-link-face is-patted"}>
        <Face mood={isAsleep ? "asleep" : feeling.mood} isSmall />
      </span>
      <span className="visually-hidden">Mood: </span>
      <span className="clip mood-link-word">{moodTitle(feeling)}</span>
    </Link>
  );
}

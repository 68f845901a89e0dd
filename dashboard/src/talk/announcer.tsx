import { useEffect, useRef, useState } from "react";
import type { VoiceAnswer } from "./voice/read-aloud.ts";

/** For those who hear the page: that an answer comes, and then the whole of it, once. */
export function Announcer({ answer }: { readonly answer: VoiceAnswer }) {
  const [words, setWords] = useState("");
  const told = useRef("");
  useEffect(() => {
    if (answer === undefined) return;
    const now = `${answer.key} ${answer.isWhole}`;
    if (told.current === now) return;
    told.current = now;
    setWords(answer.isWhole ? `Companion: ${answer.text}` : "The companion answers.");
  }, [answer]);
  return (
    <p className="visually-hidden" role="status" aria-live="polite" dir="auto">
      {words}
    </p>
  );
}

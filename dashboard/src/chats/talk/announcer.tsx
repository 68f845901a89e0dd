import { useEffect, useRef, useState } from "react";
import { plainWords } from "../../ui/plain-words.ts";
import type { VoiceAnswer } from "../voice/read-aloud.ts";
import { hideMath, showMath } from "./verbatim-math.ts";

/** For those who hear the page: that an answer comes, and then the whole of it, once. */
export function Announcer({ answer }: { readonly answer: VoiceAnswer }) {
  const [words, setWords] = useState("");
  const told = useRef("");
  useEffect(() => {
    if (answer === undefined) return;
    const now = `${answer.key} ${answer.isWhole}`;
    if (told.current === now) return;
    told.current = now;
    setWords(answer.isWhole ? `Companion: ${plainAnswer(answer.text)}` : "The companion answers.");
  }, [answer]);
  return (
    <p className="visually-hidden" role="status" aria-live="polite" dir="auto">
      {words}
    </p>
  );
}

/** The words without the signs of Markdown, and formulas as they are written. */
function plainAnswer(markdown: string): string {
  const { text, formulas } = hideMath(markdown);
  return showMath(plainWords(text), formulas);
}

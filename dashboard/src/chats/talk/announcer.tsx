import { useEffect, useMemo, useRef, useState } from "react";
import type { Message } from "../../api/openapi-types.ts";
import { plainWords } from "../../ui/plain-words.ts";
import type { VoiceAnswer } from "../voice/read-aloud.ts";
import type { FeedState } from "./feed-state.ts";
import { hideMath, showMath } from "./verbatim-math.ts";

/** For screen readers: that an answer is coming, and then all of it, once. */
export function Announcer({ answer }: { readonly answer: VoiceAnswer }) {
  const [words, setWords] = useState("");
  const announced = useRef("");
  useEffect(() => {
    if (answer === undefined) return;
    const now = `${answer.key} ${answer.isWhole}`;
    if (announced.current === now) return;
    announced.current = now;
    setWords(
      answer.isWhole ? `Companion: ${plainAnswer(answer.text)}` : "The companion is answering.",
    );
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

/** The answer of the turn that was followed last, to be read aloud. */
export function useAnswer({ live, followed, messages }: FeedState): VoiceAnswer {
  const text = live?.text;
  const turnId = followed?.turnId;
  const said = useMemo(() => saidIn(messages, turnId), [messages, turnId]);
  return useMemo(() => {
    if (followed === undefined) return undefined;
    const { key } = followed;
    // Text from before a tool call comes first, so that the whole only grows.
    if (text !== undefined) return { key, text: [...said, text].join("\n\n"), isWhole: false };
    return said.length === 0 ? undefined : { key, text: said.join("\n\n"), isWhole: true };
  }, [followed, text, said]);
}

function saidIn(messages: readonly Message[], turnId: string | undefined): readonly string[] {
  if (turnId === undefined) return [];
  return messages
    .filter(({ role, turn, hidden }) => role === "assistant" && turn === turnId && !hidden)
    .map(({ content }) => content)
    .filter((content) => content !== "");
}

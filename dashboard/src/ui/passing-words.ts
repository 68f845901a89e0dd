import { useEffect, useState } from "react";

/** Words that go after so many milliseconds. @returns them, else "", and what sets them. */
export function usePassingWords(
  ms: number,
): readonly [words: string, say: (words: string) => void] {
  const [words, say] = useState("");
  useEffect(() => {
    if (words === "") return;
    const timer = setTimeout(() => say(""), ms);
    return () => clearTimeout(timer);
  }, [words, ms]);
  return [words, say];
}

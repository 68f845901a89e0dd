import { useEffect, useState } from "react";

const saidMs = 4_000;

/** Says for a moment that something was saved. @returns the words, and what says them. */
export function useSaid(): readonly [said: string, say: (words: string) => void] {
  const [said, setSaid] = useState("");
  useEffect(() => {
    if (said === "") return;
    const timer = setTimeout(() => setSaid(""), saidMs);
    return () => clearTimeout(timer);
  }, [said]);
  return [said, setSaid];
}

/** The words, read out too. */
export function Said({ words }: { readonly words: string }) {
  return (
    <span className="memory-said" role="status">
      {words}
    </span>
  );
}

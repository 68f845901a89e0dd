import { usePassingWords } from "../../ui/passing-words.ts";

/** Says for a moment that something was saved. @returns the words, and what says them. */
export const useSaid = () => usePassingWords(4_000);

/** Words that stand for a moment, read out too. */
export function Said({ words }: { readonly words: string }) {
  return (
    <span className="memory-said" role="status">
      {words}
    </span>
  );
}

import { useMemo } from "react";
import type { FeedState } from "./feed-state.ts";
import type { VoiceAnswer } from "./voice/read-aloud.ts";

/** The answer of the turn that was followed last, for those who listen. */
export function useAnswer({ live, followed, messages }: FeedState): VoiceAnswer {
  const text = live?.text;
  const stored = messages.findLast(({ role, turn }) => role === "assistant" && turn === followed);
  return useMemo(() => {
    if (followed === undefined) return undefined;
    if (text !== undefined) return { key: followed, text, isWhole: false };
    return stored === undefined
      ? undefined
      : { key: followed, text: stored.content, isWhole: true };
  }, [followed, text, stored]);
}

import { useMemo } from "react";
import type { FeedState } from "./feed-state.ts";
import type { VoiceAnswer } from "./voice/read-aloud.ts";

/** The answer of the turn that was followed last, for those who listen. */
export function useAnswer({ live, followed, messages }: FeedState): VoiceAnswer {
  const text = live?.text;
  const turnId = followed?.turnId;
  const stored = messages.findLast(({ role, turn }) => role === "assistant" && turn === turnId);
  return useMemo(() => {
    if (followed === undefined) return undefined;
    if (text !== undefined) return { key: followed.key, text, isWhole: false };
    return stored === undefined
      ? undefined
      : { key: followed.key, text: stored.content, isWhole: true };
  }, [followed, text, stored]);
}

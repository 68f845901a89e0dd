import { useMemo } from "react";
import type { Message } from "../../api/openapi-types.ts";
import type { VoiceAnswer } from "../voice/read-aloud.ts";
import type { FeedState } from "./feed-state.ts";

/** The answer of the turn that was followed last, for those who listen. */
export function useAnswer({ live, followed, messages }: FeedState): VoiceAnswer {
  const text = live?.text;
  const turnId = followed?.turnId;
  const said = useMemo(() => saidIn(messages, turnId), [messages, turnId]);
  return useMemo(() => {
    if (followed === undefined) return undefined;
    const { key } = followed;
    // What was said before a call comes first: so the text only grows.
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

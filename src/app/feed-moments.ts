import type { Companion } from "../companion/companion.ts";
import { hear } from "../companion/emotion/triggers.ts";
import type { Chats } from "../core/chat/chats.ts";
import { systemClock } from "../core/clock.ts";
import { errorName } from "../core/errors.ts";
import { randomId } from "../core/ids.ts";
import type { Logger } from "../core/logger.ts";
import type { MomentRecorder } from "../moments/record/moment-recorder.ts";
import { recallWords } from "../moments/turns/recall.ts";

/** What was said shortly before this run, and what the companion sees and feels, into the rolling buffers. */
export async function feedMoments(
  recorder: MomentRecorder,
  from: { readonly chats: Chats; readonly companion: Companion; readonly logger: Logger },
): Promise<void> {
  const { chats, companion, logger } = from;
  try {
    await recallWords(chats, recorder, systemClock);
  } catch (error) {
    // A start does not fail with what only a reaction in its first two minutes would want.
    logger.warn({ error: errorName(error) }, "what was said before is not in the buffers");
  }
  feedCompanion(companion, recorder);
}

/** What the companion feels, and whom it sees. */
export function feedCompanion(companion: Companion, recorder: MomentRecorder): void {
  recorder.latchLive("mood", () => companion.emotions.tone);
  companion.onChange((change) => {
    if (change.type === "person") recorder.saw(change.person.name);
  });
}

/** Which words hurt, whatever was felt of them: of words in a row the feelings count the first alone. */
export function hurtfulTo(companion: Companion): (text: string) => readonly string[] {
  return (text) => {
    const { configuration, state } = companion.emotions;
    const fresh = { ...state, anchor: { ...state.anchor, heardAt: {} } };
    const { heard } = hear(configuration, fresh, text, randomId);
    return heard.map(({ words }) => words.slice(0, 500)).filter((words) => words !== "");
  };
}

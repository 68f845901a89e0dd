import type { Companion } from "../companion/companion.ts";
import type { Chats } from "../core/chat/chats.ts";
import { systemClock } from "../core/clock.ts";
import { errorName } from "../core/errors.ts";
import type { Logger } from "../core/logger.ts";
import type { Turns } from "../core/turns/turns.ts";
import type { Moments } from "../moments/moments.ts";
import { feedCompanion, feedTurns } from "../moments/turns/feed.ts";
import { recallWords } from "../moments/turns/recall.ts";

/**
 * What was said shortly before this run, what models say and what the companion sees and feels, into the
 * rolling buffers.
 */
export async function feedMoments(
  { recorder, happened }: Moments,
  from: {
    readonly chats: Chats;
    readonly turns: Turns;
    readonly companion: Companion;
    readonly persona: string;
    readonly logger: Logger;
  },
): Promise<void> {
  const { chats, turns, companion, persona, logger } = from;
  try {
    await recallWords(chats, recorder, systemClock);
  } catch (error) {
    // A start does not fail with what only a reaction in its first two minutes would want.
    logger.warn({ error: errorName(error) }, "what was said before is not in the buffers");
  }
  feedTurns(turns, recorder, persona, { withSkills: true, companion, happened });
  feedCompanion(companion, recorder);
}

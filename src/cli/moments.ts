import { systemClock } from "../clock.ts";
import { errorName } from "../errors.ts";
import type { Logger } from "../logger.ts";
import type { Chats } from "../memories/chat/chats.ts";
import type { Companion } from "../memories/companion/companion.ts";
import type { Moments, MomentsOptions } from "../moments.ts";
import { feedCompanion, feedTurns } from "../runtime/moment-feed.ts";
import { recallWords } from "../runtime/moment-recall.ts";
import type { Turns } from "../runtime/turns.ts";
import type { Throughline } from "../throughline.ts";
import type { FeedbackSettings } from "./env.ts";
import { ownPackage } from "./version.ts";

/** A run's id where there is no run: for commands that record nothing. */
const noRun = "00000000";

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

/** Begins to keep moments, as the environment has it: without a bucket nothing leaves the machine. */
export function startMoments(
  throughline: Throughline,
  { bucket, storage, region, endpoint, createBucket, autoRecord }: FeedbackSettings,
  sessionId = noRun,
): Promise<Moments> {
  const { version } = ownPackage();
  const s3: MomentsOptions["s3"] =
    bucket === undefined
      ? undefined
      : {
          ...{ bucket, createBucket },
          ...(region === undefined ? {} : { region }),
          ...(endpoint === undefined ? {} : { endpoint }),
        };
  return throughline.startMoments({
    ...{ sessionId, software: { name: "throughline", version } },
    ...{ modeText: storage, autoRecord },
    ...(s3 === undefined ? {} : { s3 }),
  });
}

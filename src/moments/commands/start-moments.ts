import type { FeedbackSettings } from "../../cli/env.ts";
import { ownPackage } from "../../cli/version.ts";
import type { Companion } from "../../companion/companion.ts";
import type { Chats } from "../../core/chat/chats.ts";
import { systemClock } from "../../core/clock.ts";
import { errorName } from "../../core/errors.ts";
import type { Logger } from "../../core/logger.ts";
import type { Throughline } from "../../core/throughline.ts";
import type { Turns } from "../../core/turns/turns.ts";
import type { Moments, MomentsOptions } from "../moments.ts";
import { feedCompanion, feedTurns } from "../turns/feed.ts";
import { recallWords } from "../turns/recall.ts";

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

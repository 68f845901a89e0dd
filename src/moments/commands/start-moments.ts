import { ownPackage } from "../../cli/command.ts";
import type { FeedbackSettings } from "../../cli/env.ts";
import type { Throughline } from "../../core/throughline.ts";
import type { Moments } from "../moments.ts";
import { type StartMomentsOptions, startMoments } from "../start-moments.ts";

/** A run's id where there is no run: for commands that record nothing. */
const noRun = "00000000";

/** Begins to keep moments, as the environment has it: without a bucket nothing leaves the machine. */
export function startConfiguredMoments(
  throughline: Throughline,
  { bucket, storage, region, endpoint, createBucket, autoRecord }: FeedbackSettings,
  options: Partial<StartMomentsOptions> = {},
): Promise<Moments> {
  const { version } = ownPackage();
  return startMoments(throughline, {
    sessionId: noRun,
    software: { name: "throughline", version },
    modeText: storage,
    autoRecord,
    s3: bucket === undefined ? undefined : { bucket, createBucket, region, endpoint },
    ...options,
  });
}

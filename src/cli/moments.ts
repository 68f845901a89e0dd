import type { Moments, MomentsOptions } from "../moments.ts";
import type { Throughline } from "../throughline.ts";
import type { FeedbackSettings } from "./env.ts";
import { ownPackage } from "./version.ts";

/** A run's id where there is no run: for commands that record nothing. */
const noRun = "00000000";

/** Begins to keep moments, as the environment has it: without a bucket nothing leaves the machine. */
export function startMoments(
  throughline: Throughline,
  { bucket, storage, region, endpoint, createBucket }: FeedbackSettings,
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
    ...(storage === undefined ? {} : { mode: storage }),
    ...(s3 === undefined ? {} : { s3 }),
  });
}

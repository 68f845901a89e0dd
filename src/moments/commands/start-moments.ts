import { ownPackage } from "../../cli/command.ts";
import type { Settings } from "../../cli/settings.ts";
import type { Throughline } from "../../core/throughline.ts";
import type { Moments, MomentsOptions } from "../moments.ts";
import { startMoments } from "../start-moments.ts";

const noRun = "00000000";

interface ConfiguredMomentsOptions extends Partial<Omit<MomentsOptions, "sessionId">> {
  /** The run of the companion that they belong to. @default zeros: no run, as in a command */
  readonly sessionId?: string | undefined;
}

/** Begins to keep moments, as the environment has it: without a bucket nothing leaves the machine. */
export function startConfiguredMoments(
  throughline: Throughline,
  { bucket, storage, region, endpoint, createBucket, autoRecord }: Settings,
  { sessionId = noRun, ...options }: ConfiguredMomentsOptions = {},
): Promise<Moments> {
  const { version } = ownPackage();
  return startMoments(throughline, {
    sessionId,
    software: { name: "throughline", version },
    mode: storage,
    autoRecord,
    s3: bucket === undefined ? undefined : { bucket, createBucket, region, endpoint },
    ...options,
  });
}

import { effectiveMode, storageModes } from "../../targets/outbox/effective-mode.ts";
import type { FeedbackSettings } from "../env.ts";
import type { Check } from "./check.ts";

/** Where packages of feedback go, as the environment has it. Nothing is asked over the network. */
export function checkMoments({ storage, bucket }: FeedbackSettings): Check {
  const id = "moments";
  const { mode, reason } = effectiveMode({ mode: storage, bucket });
  if (reason === "unknown_mode") {
    const says = `FEEDBACK_STORAGE is none of ${storageModes.join(", ")}: packages stay on this machine`;
    return { id, status: "note", says };
  }
  // Asked for by name, and not to be had; what nobody asked for is no news.
  const isMissed = reason === "no_bucket" && storage !== undefined;
  if (isMissed) {
    const says = `FEEDBACK_STORAGE is ${storage} without FEEDBACK_S3_BUCKET: packages stay on this machine`;
    return { id, status: "note", says };
  }
  const where = mode === "local" ? "stay on this machine" : `go to the bucket ${bucket}`;
  return { id, status: "ok", says: `packages of feedback ${where}` };
}

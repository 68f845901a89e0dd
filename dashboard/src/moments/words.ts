// Packages in a person's words.
import type {
  Buffers,
  DeletedPackages,
  Feedback,
  Package,
  PackageStatus,
} from "../api/openapi-types.ts";
import { counted, seconds } from "../ui/in-words.ts";

const modes = {
  local: "On this machine alone",
  "local+s3": "On this machine, and uploaded",
  s3: "Uploaded, and not kept on this machine",
} as const;
const reasons: Readonly<Record<string, string>> = {
  no_bucket: "no bucket is named",
  no_credentials: "there are no credentials for the bucket",
  no_client: "nothing that uploads is installed",
  unknown_mode: "the mode that was asked for is not known",
};
const channels: Readonly<Record<string, string>> = {
  touch: "By touch",
  speech: "By voice",
  text: "In writing",
  button: "By a button of this page",
};
/** The states of packages. */
export const states = {
  sealed: "Whole",
  damaged: "Damaged",
  newer: "Of a newer version",
  seed: "From before",
} as const satisfies Record<Package["state"], string>;

/** Where packages go, why, and what is still owed. */
export function storageInWords(stats: Buffers): string {
  const { storage_mode: mode, storage_reason: reason, s3_bucket: bucket, outbox } = stats;
  const where = modes[mode] + (bucket === null || mode === "local" ? "" : ` to ${bucket}`);
  const why = reason === null ? "" : `: ${reasons[reason] ?? reason}`;
  if (outbox === null) return `${where}${why}.`;
  const parked = outbox.parked === 0 ? "" : `, ${outbox.parked} set aside`;
  return `${where}${why}. ${outbox.pending} waiting for upload${parked}.`;
}

/** What a package holds: "2 messages, 3 pictures, 1.5 s of sound". */
export function countsInWords(feedback: Feedback): string {
  const { num_messages, num_frames, audio_samples } = feedback;
  const parts = [counted(num_messages, "message")];
  if (num_frames > 0) parts.push(counted(num_frames, "picture"));
  if (audio_samples > 0) parts.push(`${seconds(audio_samples / 16)} of sound`);
  return parts.join(", ");
}

/** Where a package is, and where it is still to go. */
export function uploadInWords(
  mayUpload: boolean,
  status: Pick<PackageStatus, "uploaded"> | null,
  mode: Buffers["storage_mode"] | undefined,
): string {
  const buckets = [...new Set(status?.uploaded.map(({ bucket }) => bucket))];
  if (buckets.length > 0) return `Here, and in the bucket ${buckets.join(", ")}`;
  const isOwed = mayUpload && mode !== undefined && mode !== "local";
  return isOwed ? "Here; waits for upload" : "On this machine alone";
}

/** Why a moment that was to be deleted may not be gone; "": it is, or will be. */
export function leftInWords({ failed, isBucketSearched }: Deletion): string {
  if (failed.length > 0) return "Some of it could not be deleted from the disk. Try again.";
  if (isBucketSearched) return "";
  return "It is not on this machine, and the bucket could not be searched. Try again later.";
}

type Deletion = Pick<DeletedPackages, "failed" | "isBucketSearched">;

/** How somebody reacted, where that says more than the words. */
export function channelInWords({
  channel,
  trigger,
}: Pick<Feedback, "channel" | "trigger">): string {
  const how = channels[channel] ?? "";
  return [how, trigger === "" ? "" : `“${trigger}”`].filter((part) => part !== "").join(": ");
}

/** Whether a bucket has it. */
export function isUploaded(status: PackageStatus | null): boolean {
  return (status?.uploaded.length ?? 0) > 0;
}

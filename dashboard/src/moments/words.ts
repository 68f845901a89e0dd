// Packages in a person's words.
import type {
  Buffers,
  DeletedPackages,
  Feedback,
  Package,
  PackageStatus,
} from "../api/openapi-types.ts";
import { counted, seconds } from "../ui/in-words.ts";

const reasons: Readonly<Record<string, string>> = {
  no_credentials: "no credentials for the bucket",
  no_client: "the package for uploads is not installed",
  unknown_mode: "the configured storage mode is unknown",
};
const channels: Readonly<Record<string, string>> = {
  touch: "By touch",
  speech: "By voice",
  text: "In writing",
  button: "With a button on this page",
};
export const ratings = { positive: "Liked", negative: "Not liked" } as const;
export const speakers = {
  USER: "You",
  ASSISTANT: "Companion",
  SYSTEM: "System",
  TOOL: "Tool",
} as const;
/** The states of packages. */
export const states = {
  sealed: "Intact",
  damaged: "Damaged",
  newer: "From a newer version",
  seed: "Old format",
  bucket: "Only in the bucket",
} as const satisfies Record<Package["state"], string>;

/** Where moments go, why, and how many are still to be uploaded. */
export function storageInWords(stats: Buffers): string {
  const { storage_reason: reason, outbox } = stats;
  const why = reason === null || reason === "no_bucket" ? "" : `: ${reasons[reason] ?? reason}`;
  const where = `${placeInWords(stats)}${why}.`;
  if (outbox === null) return where;
  const failed = outbox.dead === 0 ? "" : `, ${outbox.dead} failed`;
  return `${where} ${outbox.pending} waiting for upload${failed}.`;
}

function placeInWords({ storage_mode: mode, s3_bucket: bucket }: Buffers): string {
  if (mode === "local") return "Stored on this machine only";
  const to = bucket === null ? "" : ` to ${bucket}`;
  return mode === "s3"
    ? `Uploaded${to}, not stored on this machine`
    : `Stored on this machine and uploaded${to}`;
}

/** What a package holds: "2 messages, 3 pictures, 1.5 s of sound". */
export function countsInWords(feedback: Feedback): string {
  const { num_messages, num_frames, audio_samples } = feedback;
  const parts = [counted(num_messages, "message")];
  if (num_frames > 0) parts.push(counted(num_frames, "picture"));
  if (audio_samples > 0) parts.push(`${seconds(audio_samples / 16)} of sound`);
  return parts.join(", ");
}

/** Where a moment is stored, and whether it is still to be uploaded. */
export function uploadInWords(
  mayUpload: boolean,
  status: Pick<PackageStatus, "uploaded"> | null,
  mode: Buffers["storage_mode"] | undefined,
): string {
  const buckets = [...new Set(status?.uploaded.map(({ bucket }) => bucket))];
  if (buckets.length > 0) return `On this machine and in the bucket ${buckets.join(", ")}`;
  const isPending = mayUpload && mode !== undefined && mode !== "local";
  return isPending ? "On this machine, waiting for upload" : "On this machine only";
}

/** Why a moment that was to be deleted may not be gone; "": it is, or will be. */
export function leftInWords({ failed }: Pick<DeletedPackages, "failed">): string {
  return failed.length > 0 ? "Some of it could not be deleted from the disk. Try again." : "";
}

/** How the person reacted, where that says more than the words. */
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

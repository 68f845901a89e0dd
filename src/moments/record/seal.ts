import { audioRateHz, type SealedMoment } from "../package/package-sink.ts";
import { frameFile } from "../package/read-manifest.ts";
import type { AudioEntry, PackageMessage, PackageRecord, Target } from "../package/record.ts";
import type { MomentDraft } from "./draft.ts";

/** Makes a moment whole: counts, indexes and ranges follow from what is left of it. */
export function sealed({ fixed, content, judged, triggerTurn }: MomentDraft): SealedMoment {
  const { messages, frames, audio, ...rest } = content;
  const target = judged === null ? null : placed(judged, messages);
  // What was judged may have been redacted away.
  const targetReason = target === null ? (fixed.target_reason ?? "no_assistant_turn") : null;
  const record: PackageRecord = {
    ...rest,
    ...fixed,
    num_messages: messages.length,
    num_frames: frames.length,
    audio_chunks: audio?.chunks ?? 0,
    audio_samples: audio?.samples ?? 0,
    target,
    target_reason: targetReason,
    trigger_turn: triggerTurn === null ? null : placedTrigger(triggerTurn, messages),
    frames: frames.map(({ jpeg: _, ...entry }, index) => ({ file: frameFile(index), ...entry })),
    audio: entryOf(audio),
  };
  return { record, messages, frames: frames.map(({ jpeg }) => jpeg), audio };
}

function placed(judged: NonNullable<MomentDraft["judged"]>, messages: readonly PackageMessage[]) {
  const isJudged = ({ id }: PackageMessage) => judged.message_ids.includes(id);
  const index = messages.findIndex(isJudged);
  if (index < 0) return null;
  const count = messages.findLastIndex(isJudged) - index + 1;
  const { turn_id, message_ids, how, partial, interrupted } = judged;
  const kept = message_ids.filter((id) => messages.some((message) => message.id === id));
  return { turn_id, message_ids: kept, index, count, how, partial, interrupted } satisfies Target;
}

function placedTrigger(
  { turn_id, message_id }: NonNullable<MomentDraft["triggerTurn"]>,
  messages: readonly PackageMessage[],
) {
  const index = messages.findIndex(({ id }) => id === message_id);
  return { turn_id, message_id, index: index < 0 ? null : index };
}

function entryOf(audio: MomentDraft["content"]["audio"]): AudioEntry | null {
  if (audio === null) return null;
  const { samples, start_t_ms, source_t_ms = null } = audio;
  const format = { rate_hz: audioRateHz, channels: 1, bits: 16 } as const;
  return { file: "audio.wav", ...format, samples, start_t_ms, source_t_ms };
}

import { type AudioRef, audioRateHz, type SealedMoment } from "../package/package-sink.ts";
import { frameFile } from "../package/read-manifest.ts";
import type { AudioEntry, PackageMessage, PackageRecord, Target } from "../package/record.ts";
import type { DraftFrame, MomentDraft } from "./draft.ts";

/** Makes a moment whole: counts, indexes and ranges follow from what is left of it. */
export function sealed({ fixed, content, judged, triggerTurn }: MomentDraft): SealedMoment {
  const { messages, frames, audio } = content;
  const target = judged === null ? null : placed(judged, messages);
  // What was judged may have been redacted away.
  const targetReason = target === null ? (fixed.target_reason ?? "no_assistant_turn") : null;
  // In this order, the seed's members first, for people who open the file.
  const record: PackageRecord = {
    id: fixed.id,
    timestamp: fixed.timestamp,
    timestamp_str: fixed.timestamp_str,
    sentiment: fixed.sentiment,
    what: content.what,
    trigger: content.trigger,
    num_messages: messages.length,
    num_frames: frames.length,
    audio_chunks: audio?.chunks ?? 0,
    session_id: fixed.session_id,
    chat_id: fixed.chat_id,
    provider: fixed.provider,
    model: fixed.model,
    source: fixed.source,
    audio_samples: audio?.samples ?? 0,
    schema: fixed.schema,
    uuid: fixed.uuid,
    name: fixed.name,
    channel: fixed.channel,
    score: fixed.score,
    correction: content.correction,
    annotator: fixed.annotator,
    target,
    target_reason: targetReason,
    trigger_turn: triggerTurn === null ? null : placedTrigger(triggerTurn, messages),
    people: content.people,
    matched: fixed.matched,
    consent: fixed.consent,
    redactions: content.redactions,
    reduced: fixed.reduced,
    supersedes: fixed.supersedes,
    trace: fixed.trace,
    latched: content.latched,
    clock: fixed.clock,
    window: fixed.window,
    frames: frames.map((frame, index) => frameEntry(frame, index)),
    audio: entryOf(audio),
    software: fixed.software,
  };
  return { record, messages, frames: frames.map(({ jpeg }) => jpeg), audio: soundOf(audio) };
}

function soundOf(audio: MomentDraft["content"]["audio"]): AudioRef | null {
  if (audio === null) return null;
  const { pcm, samples } = audio;
  return { pcm, samples };
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

function frameEntry({ jpeg: _, ...entry }: DraftFrame, index: number) {
  const { t_ms, timestamp, seq, width, height, camera, source_t_ms } = entry;
  const file = frameFile(index);
  return { file, t_ms, timestamp, seq, width, height, camera, source_t_ms };
}

function entryOf(audio: MomentDraft["content"]["audio"]): AudioEntry | null {
  if (audio === null) return null;
  const { samples, start_t_ms, source_t_ms = null } = audio;
  const format = { rate_hz: audioRateHz, channels: 1, bits: 16 } as const;
  return { file: "audio.wav", ...format, samples, start_t_ms, source_t_ms };
}

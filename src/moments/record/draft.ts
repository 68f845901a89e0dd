import type { Json } from "../../core/json.ts";
import type { AudioRef } from "../package/package-sink.ts";
import type {
  AudioEntry,
  FrameEntry,
  PackageMessage,
  PackageRecord,
  Redaction,
} from "../package/record.ts";
import { type AudioSnapshot, audioRef, chunksIn, sourceStartOf, startOf } from "./audio-ring.ts";
import { millis, seconds } from "./capture-clock.ts";
import type { BufferedFrame } from "./frame-buffer.ts";
import type { BufferedMessage } from "./message-buffer.ts";

export type DraftFrame = Omit<FrameEntry, "file"> & { readonly jpeg: Uint8Array };
export type DraftAudio = Omit<AudioEntry, "file" | "rate_hz" | "channels" | "bits" | "samples"> &
  AudioRef & { readonly chunks: number };

/** Of a package, what a redaction may see and change. Media is shared: replaced, never written to. */
export interface MomentContent {
  readonly what: string;
  readonly trigger: string;
  readonly correction: PackageRecord["correction"];
  readonly people: readonly string[];
  readonly latched: { readonly [name: string]: Json };
  readonly messages: readonly PackageMessage[];
  readonly frames: readonly DraftFrame[];
  readonly audio: DraftAudio | null;
  readonly redactions: readonly Redaction[];
}

/**
 * Takes out what must not be kept, before a byte of it is written or sent, and notes what it took in
 * `redactions`. If it throws, nothing is saved. At a forced exit only one that answers at once counts.
 */
export type Redact = (content: MomentContent) => MomentContent | Promise<MomentContent>;

/** The trigger, from which all times are told. */
export interface Zero {
  readonly monoMs: number;
  readonly wallMs: number;
}

/** What a package has of a message: these fields, and no others of the buffer's own. */
export function draftMessage(buffered: BufferedMessage, zero: Zero): PackageMessage {
  const { role, text, id, seq, turn_id, synthetic, interrupted, truncated } = buffered;
  const { tool_calls, tool_call_id, name, attachments, live } = buffered;
  const t = buffered.timeMs - zero.monoMs;
  // Of an answer that was still coming out, this much was delivered.
  const delivered = buffered.delivered ?? (live ? text : null);
  const said = { role, text, timestamp: seconds(zero.wallMs + t), id, seq, turn_id };
  const how = { t_ms: millis(t), synthetic, interrupted, delivered, truncated };
  return { ...said, ...how, tool_calls, tool_call_id, name, attachments };
}

/** By the time at which they were received. */
export function draftFrames(frames: readonly BufferedFrame[], zero: Zero): readonly DraftFrame[] {
  return frames.map(({ monoMs, seq, width, height, camera, sourceMs, jpeg }) => {
    const t = monoMs - zero.monoMs;
    const timestamp = seconds(zero.wallMs + t);
    return { t_ms: millis(t), timestamp, seq, width, height, camera, source_t_ms: sourceMs, jpeg };
  });
}

export function draftAudio(audio: AudioSnapshot | undefined, zero: Zero): DraftAudio | null {
  if (audio === undefined || audio.from === audio.to) return null;
  const start_t_ms = millis(startOf(audio) - zero.monoMs);
  const source_t_ms = sourceStartOf(audio);
  return { start_t_ms, source_t_ms, ...audioRef(audio), chunks: chunksIn(audio) };
}

// What a package holds, member by member: feedback.json (the record and the manifest in one),
// messages.json, the status beside the folder, and what is pending for a target. Names are those on disk.
// Times on the wall are seconds since 1970 with 3 decimals; `t_ms` is milliseconds of the monotonic
// clock relative to the trigger, negative before it. `null` is "not known"; no member is left out.

import type { Attachment } from "../../core/chat/message.ts";
import type { Json } from "../../core/json.ts";

/** The format of a package. A later one is left alone. */
export const feedbackSchema = "throughline.feedback/1";

export type Sentiment = "positive" | "negative";
/** The channel that the judgement came through. */
export type Source = "skill" | "http" | "cli" | "auto";
/** The sense that noticed it. */
export type Channel = "touch" | "speech" | "text" | "button" | "other";
export type Reduced = "rate_cap" | "old_target" | "consent" | "disk_full";
export type StreamName = "messages" | "frames" | "audio";

export interface Correction {
  readonly text: string;
  /** Only a replacement may become a chosen answer; a note says what to do otherwise. */
  readonly kind: "replacement" | "note";
}

/** Who judged: a person, the model of itself, or a rule. */
export interface Annotator {
  readonly kind: "human" | "model" | "code";
  readonly id: string | null;
}

/** The turn that is judged, as a range of messages.json. */
export interface Target {
  readonly turn_id: string | null;
  /** Each ASSISTANT and TOOL message of the turn, in order. */
  readonly message_ids: readonly string[];
  /** Of the first of them in messages.json, from 0. */
  readonly index: number;
  /** From the first to the last of them, with whatever lies between. */
  readonly count: number;
  /** `answering`: somebody reacted while the answer was coming out. */
  readonly how: "explicit" | "answering" | "last-assistant";
  /** The answer was still coming out: what was delivered by then is what is judged. */
  readonly partial: boolean;
  readonly interrupted: boolean;
}
export type TargetReason = "no_assistant_turn" | "too_old";

/** The turn whose message is the praise, or in which the model called a `remember_` skill. */
interface TriggerTurn {
  readonly turn_id: string | null;
  /** Its user message, and where that is in messages.json; null when it is not there. */
  readonly message_id: string | null;
  readonly index: number | null;
}

/** What the person agreed to, stream by stream and use by use, and the words that they saw. */
export interface Consent {
  readonly messages: boolean;
  readonly frames: boolean;
  readonly audio: boolean;
  readonly upload: boolean;
  readonly export: boolean;
  readonly wording: string | null;
  readonly timestamp: number | null;
  readonly by: string | null;
}

export interface Redaction {
  readonly stream: StreamName | "latched" | "label";
  readonly count: number;
  readonly rule: string;
}

interface ClockNotes {
  /** Of the trigger, since the run began. */
  readonly mono_ms: number;
  readonly boot_id: string | null;
  /** IANA name of the zone, or null. */
  readonly zone: string | null;
  /** The wall clock was put forward (positive) or back by more than a second. */
  readonly steps: readonly { readonly t_ms: number; readonly by_ms: number }[];
  /** The machine slept. `t_ms` is when it was noticed, at most a second after it woke. */
  readonly suspends: readonly { readonly t_ms: number; readonly ms: number }[];
}

interface Window {
  /** From the oldest picture or sound to the trigger. */
  readonly pre_ms: number;
  /** What the post-roll became. */
  readonly post_ms: number;
  readonly from: "ring" | "transcript";
  /** `seq` of the first and the last message; null when there are none. */
  readonly first_seq: number | null;
  readonly last_seq: number | null;
  /** Other packages of this run that share part of this window. */
  readonly overlaps: readonly { readonly id: string; readonly ms: number }[];
}

export interface FrameEntry {
  /** `frames/000000.jpg` on. */
  readonly file: string;
  readonly t_ms: number | null;
  readonly timestamp: number | null;
  readonly seq: number | null;
  readonly width: number;
  readonly height: number;
  readonly camera: string | null;
  /** The source's own clock, as it came. */
  readonly source_t_ms: number | null;
}

export interface AudioEntry {
  readonly file: "audio.wav";
  readonly rate_hz: 16_000;
  readonly channels: 1;
  readonly bits: 16;
  readonly samples: number;
  /** When the first sample was heard, by when the last one was received. */
  readonly start_t_ms: number | null;
  /** The same on the sender's clock. */
  readonly source_t_ms?: number | null;
}

/** A file of the folder other than feedback.json. */
export interface FileEntry {
  /** `messages.json`, `audio.wav`, `frames/<6 digits>.jpg` or `attachments/<sha256>`. */
  readonly path: string;
  readonly bytes: number;
  /** 64 lower-case hex digits. */
  readonly sha256: string;
  readonly media_type: string;
}

/** All of feedback.json that is known before a byte is written. */
export interface PackageRecord {
  /** The last 12 hex digits of `uuid`. */
  readonly id: string;
  readonly timestamp: number;
  /** `YYYY-MM-DDTHH-MM-SS` in UTC, as in the name. */
  readonly timestamp_str: string;
  readonly sentiment: Sentiment;
  readonly what: string;
  readonly trigger: string;
  readonly num_messages: number;
  readonly num_frames: number;
  /** Chunks as they were fed that reach into the window. */
  readonly audio_chunks: number;
  /** The run's id. */
  readonly session_id: string;
  readonly chat_id: string | null;
  readonly provider: string | null;
  readonly model: string | null;
  readonly source: Source;
  readonly audio_samples: number;
  readonly schema: typeof feedbackSchema;
  /** UUIDv7: the idempotency key. */
  readonly uuid: string;
  /** Of the folder: `<timestamp_str>_<sentiment>_fb_<id>`. */
  readonly name: string;
  readonly channel: Channel;
  /** -1 to 1, its sign that of the sentiment. */
  readonly score: number;
  readonly correction: Correction | null;
  readonly annotator: Annotator;
  readonly target: Target | null;
  /** Why there is no target. */
  readonly target_reason: TargetReason | null;
  readonly trigger_turn: TriggerTurn | null;
  readonly people: readonly string[];
  /** The words that fired an automatic record. */
  readonly matched: readonly string[];
  readonly consent: Consent;
  readonly redactions: readonly Redaction[];
  readonly reduced: Reduced | null;
  readonly supersedes: string | null;
  readonly trace: { readonly trace_id: string; readonly span_id: string } | null;
  readonly latched: { readonly [name: string]: Json };
  readonly clock: ClockNotes;
  readonly window: Window;
  readonly frames: readonly FrameEntry[];
  readonly audio: AudioEntry | null;
  readonly software: { readonly name: string; readonly version: string };
}

/** What the writer of the package adds. */
export interface Seal {
  readonly sealed_timestamp: number;
  /** In the order of their upload. */
  readonly files: readonly FileEntry[];
}

/** feedback.json whole, but for its last line, the CRC. */
export interface Manifest extends PackageRecord, Seal {}

export type MessageRole = "USER" | "ASSISTANT" | "SYSTEM" | "TOOL";

/** One item of messages.json. */
export interface PackageMessage {
  readonly role: MessageRole;
  readonly text: string;
  readonly timestamp: number | null;
  readonly id: string;
  readonly seq: number;
  readonly turn_id: string | null;
  readonly t_ms: number | null;
  /** The kind of text that we injected, such as `pat_hint`: never a target or a completion. */
  readonly synthetic: string | null;
  readonly interrupted: boolean;
  /** What was spoken or shown of `text`, where that is known to differ. */
  readonly delivered: string | null;
  readonly truncated: boolean;
  readonly tool_calls: Json;
  readonly tool_call_id: string | null;
  /** Of a USER message: who of a group said it. */
  readonly name?: string | undefined;
  /** Of a USER message: its files. Those that the package has are `attachments/<sha256>`. */
  readonly attachments?: readonly Attachment[] | undefined;
}

/** `<name>.status.json`, beside the folder: local, replaced whole, never uploaded. */
export interface PackageStatus {
  /** Copies in buckets that were read back. */
  readonly uploaded: readonly UploadedCopy[];
  readonly preserved: PackageMark | null;
  readonly retracted: (PackageMark & { readonly superseded_by: string | null }) | null;
  /** What a bucket has to be told of it; absent: none ever had to. */
  readonly upload?: UploadNote | undefined;
  /** Of a package that is, or is about to be, in a bucket alone: whose it is, for forgetting. */
  readonly of?: PackageOwners | undefined;
}
export interface PackageMark {
  readonly timestamp: number;
  readonly by: string | null;
  readonly reason: string | null;
}
export interface UploadedCopy {
  readonly bucket: string;
  /** Of each key, with its last slash. */
  readonly prefix: string;
  /** Seconds since 1970. */
  readonly timestamp: number;
}

/**
 * What a bucket has to be told: `pending`, that a package or its retraction is to go there; `failed`, that
 * the last attempt failed and another follows; `dead`, that none follows by itself; `done`.
 */
export interface UploadNote {
  readonly state: "pending" | "failed" | "dead" | "done";
  readonly target: UploadTarget;
  readonly prefix: string;
  /** Whether the folder stays here once it is uploaded: not in mode `s3`. */
  readonly keep_local: boolean;
  /** Seconds since 1970. */
  readonly since: number;
  /** Of the package's files. */
  readonly bytes: number;
  readonly error: UploadError | null;
}

/** Where a copy is, or is to go. `endpoint` null is AWS. */
export interface UploadTarget {
  readonly bucket: string;
  readonly region: string | null;
  readonly endpoint: string | null;
}

/** Why an attempt failed; never what anybody said. */
export interface UploadError {
  readonly class: string;
  readonly code: string | null;
  readonly status: number | null;
}

export interface PackageOwners {
  readonly chat_id: string | null;
  readonly people: readonly string[];
  /** The ids of its messages. */
  readonly messages: readonly string[];
  /** Of a person's reaction to a message that was named: what it is about, and what tells which is newer. */
  readonly judged?:
    | (Pick<Target, "message_ids"> & Pick<PackageRecord, "timestamp" | "supersedes">)
    | undefined;
}

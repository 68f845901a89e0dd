// Reactions and their packages, as they go over the wire. Times in a package are seconds on the
// wall; `t_ms` is milliseconds relative to the reaction, negative before it. `null` is "not known".

export type Sentiment = "positive" | "negative";

/** What is agreed to: body and answer of POST /api/feedback/consent. */
export interface Consent {
  readonly messages: boolean;
  readonly frames: boolean;
  readonly audio: boolean;
  readonly upload: boolean;
  readonly export: boolean;
  /** What the person was shown. */
  readonly wording: string | null;
  readonly timestamp: number | null;
  readonly by: string | null;
}

/** GET /api/feedback/stats, and the event `buffers` */
export interface MomentStats {
  readonly messages: number;
  readonly frames: number;
  readonly audio_seconds: number;
  /** Of all buffers. */
  readonly bytes: number;
  /** What the buffers hold at most. */
  readonly limits: {
    readonly messages: number;
    readonly frames: number;
    readonly audio_seconds: number;
    readonly bytes: number;
  };
  /** Moments that are not saved yet. */
  readonly waiting: number;
  readonly consent: Consent;
  /** Whether pictures and sound come in now, from anywhere. */
  readonly capturing: { readonly frames: boolean; readonly audio: boolean };
  readonly storage_mode: "local" | "local+s3" | "s3";
  /** Why it is this mode and not the one that was asked for. */
  readonly storage_reason: string | null;
  readonly s3_bucket: string | null;
  readonly outbox: { readonly pending: number; readonly parked: number } | null;
}

/** What should have been said, or a word about it. */
export interface Correction {
  readonly text: string;
  readonly kind: "replacement" | "note";
}

/** Body of POST /api/feedback */
export interface Reaction {
  readonly sentiment: Sentiment;
  readonly what: string;
  readonly correction?: Correction;
  readonly chat_id: string;
  readonly target_message_id: string;
  readonly channel: "button";
}

/** POST /api/feedback: how far it has come. */
export interface MomentReceipt {
  readonly id: string;
  readonly name: string;
  readonly accepted: boolean;
  /** Neither a kill nor a power cut loses it. */
  readonly durable: boolean;
  readonly uploaded: boolean;
  readonly reason?: string;
  readonly reduced?: string;
  readonly duplicate_of?: string;
}

/** Body of POST /api/touch */
export interface Touch {
  /** 1: a pat. 2: a scratch of the head, for what was just done. */
  readonly level: 1 | 2;
  readonly chat_id?: string;
}

/** POST /api/touch */
export interface Touched {
  /** Whether the model hears of it. */
  readonly hint: "told" | "pending" | "none";
}

export interface MomentFrame {
  /** `frames/000000.jpg` on. */
  readonly file: string;
  readonly t_ms: number | null;
}

export interface MomentAudio {
  readonly rate_hz: number;
  readonly samples: number;
  readonly start_t_ms: number | null;
  /** At 0, and after each gap among others. */
  readonly anchors: readonly { readonly sample: number; readonly t_ms: number }[];
}

/** feedback.json, as far as the page shows it. */
export interface Feedback {
  readonly timestamp: number;
  readonly sentiment: Sentiment;
  readonly what: string;
  readonly trigger: string;
  readonly num_messages: number;
  readonly num_frames: number;
  readonly audio_samples: number;
  readonly chat_id: string | null;
  readonly channel: string;
  readonly correction: Correction | null;
  readonly consent?: { readonly upload: boolean };
  readonly target: { readonly index: number; readonly count: number } | null;
  readonly frames: readonly MomentFrame[];
  readonly audio: MomentAudio | null;
}

/** What became of a package since it was sealed. */
export interface MomentStatus {
  readonly uploaded?: readonly { readonly bucket: string; readonly timestamp: number }[];
  readonly retracted: { readonly timestamp: number; readonly reason: string | null } | null;
}

export interface MomentEntry {
  readonly name: string;
  readonly state: "sealed" | "damaged" | "newer" | "seed";
  readonly detail: string | null;
  readonly bytes: number;
  /** `null` where it cannot be read. */
  readonly feedback: Feedback | null;
  readonly status: MomentStatus | null;
}

/** GET /api/feedback: newest first. */
export interface MomentPage {
  readonly packages: readonly MomentEntry[];
  readonly cursor: string | null;
}

export interface MomentMessage {
  readonly role: "USER" | "ASSISTANT" | "SYSTEM" | "TOOL";
  readonly text: string;
  readonly id: string;
  readonly seq: number;
  readonly t_ms: number | null;
}

/** GET /api/feedback/{name} */
export interface MomentContent {
  readonly feedback: Feedback;
  readonly messages: readonly MomentMessage[];
  readonly status: MomentStatus | null;
  readonly incomplete: readonly Difference[];
}

/** One way in which a package is not as it was sealed. */
export interface Difference {
  readonly path: string;
  readonly detail: string;
}

/** POST /api/feedback/{name}/repair */
export interface Repaired {
  readonly outcome: "whole" | "repaired" | "not_repaired";
}

/** POST /api/feedback/{name}/verify */
export interface Verification {
  readonly verified: boolean;
  readonly differences: readonly Difference[];
}

/** DELETE /api/feedback/{name} */
export interface DeletedMoment {
  readonly failed: readonly unknown[];
  /** Whether copies that are in the bucket alone were looked for. */
  readonly isBucketSearched: boolean;
}

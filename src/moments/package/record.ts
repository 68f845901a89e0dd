// What a package holds, declared once: feedback.json (the record and the manifest in one), messages.json, and the
// status beside the folder. Names are those on disk. Times on the wall are seconds since 1970 with 3 decimals;
// `t_ms` is milliseconds relative to the trigger, negative before it, and counts time asleep. `null` is "not
// known"; no member is left out. Members that are not known are for later versions.

import type { Attachment } from "../../core/chat/message.ts";
import type { Json } from "../../core/json.ts";
import {
  checked,
  type Fields,
  flag,
  list,
  nullable,
  number,
  object,
  optional,
  record,
  type Shape,
  text,
  whole,
  word,
} from "../../core/shape.ts";
import { isPackageName, isUuidV7, sentiments } from "./package-name.ts";

export type { Sentiment } from "./package-name.ts";

/** The format of a package. A later one is left alone. */
export const feedbackSchema = "throughline.feedback/1";

type Shaped<S> = S extends Shape<infer T> ? T : never;

/** Members that may be `undefined` may be absent. */
type Members<T> = { readonly [K in keyof T as undefined extends T[K] ? never : K]: T[K] } & {
  readonly [K in keyof T as undefined extends T[K] ? K : never]?: T[K];
};

export function members<T extends object>(fields: Fields<T>): Shape<Members<T>> {
  return object(fields, "left out") as unknown as Shape<Members<T>>;
}

export function that(fits: (value: string) => boolean): Shape<string> {
  return checked(text(), (value, at) => void (fits(value) || at.says("has another form")));
}

export const matching = (pattern: RegExp) => that((value) => pattern.test(value));
const anything: Shape<Json> = {
  read: (value, at) => {
    if (value === undefined) at.says("must be there");
    return value as Json;
  },
  write: (value) => value,
};
const anyNumber = number(-Number.MAX_VALUE, Number.MAX_VALUE);
const count = whole(0, Number.MAX_SAFE_INTEGER);
const orNull = { text: nullable(text()), number: nullable(anyNumber), count: nullable(count) };
const id = matching(/^[0-9a-f]{12}$/);
const digest = matching(/^[0-9a-f]{64}$/);
/** No other path exists in a package, so none can lead out of it. */
export const pathShape = matching(
  /^(messages\.json|audio\.wav|frames\/\d{6}\.jpg|attachments\/[0-9a-f]{64})$/,
);

/** The channel that the judgement came through. */
export const source = word(["skill", "http", "cli", "auto"]);
export type Source = Shaped<typeof source>;

/** The sense that noticed it. */
export const channel = word(["touch", "speech", "text", "button", "other"]);
export type Channel = Shaped<typeof channel>;

const reduced = word(["rate_cap", "old_target", "consent", "disk_full"]);
export type Reduced = Shaped<typeof reduced>;

/** Only a replacement may become a chosen answer; a note says what to do otherwise. */
const correction = members({ text: text(), kind: word(["replacement", "note"]) });
export type Correction = Shaped<typeof correction>;

/** Who judged: a person, the model of itself, or a rule. */
const annotator = members({ kind: word(["human", "model", "code"]), id: orNull.text });
export type Annotator = Shaped<typeof annotator>;

/** The turn that is judged, as a range of messages.json. */
const target = members({
  turn_id: orNull.text,
  /** Each ASSISTANT and TOOL message of the turn, in order. */
  message_ids: list(text(), 1_000),
  /** Of the first of them in messages.json, from 0. */
  index: count,
  /** From the first to the last of them, with whatever lies between. */
  count,
  /** `answering`: somebody reacted while the answer was coming out. */
  how: word(["explicit", "answering", "last-assistant"]),
  /** The answer was still coming out: what was delivered by then is what is judged. */
  partial: flag(),
  interrupted: flag(),
});
export type Target = Shaped<typeof target>;

const targetReason = word(["no_assistant_turn", "too_old"]);
export type TargetReason = Shaped<typeof targetReason>;

/** What the person agreed to, stream by stream and use by use, and the words that they saw. */
export const consentShape = members({
  messages: flag(),
  frames: flag(),
  audio: flag(),
  upload: flag(),
  export: flag(),
  wording: orNull.text,
  timestamp: orNull.number,
  by: orNull.text,
});
export type Consent = Shaped<typeof consentShape>;

const window = members({
  /** From the oldest picture or sound to the trigger. */
  pre_ms: anyNumber,
  /** What the post-roll became. */
  post_ms: anyNumber,
  from: word(["ring", "transcript"]),
  /** `seq` of the first and the last message; null when there are none. */
  first_seq: orNull.count,
  last_seq: orNull.count,
});

const frame = members({
  file: matching(/^frames\/\d{6}\.jpg$/),
  t_ms: orNull.number,
  timestamp: orNull.number,
  seq: orNull.count,
  width: count,
  height: count,
  camera: orNull.text,
  /** The source's own clock, as it came. */
  source_t_ms: orNull.number,
});
export type FrameEntry = Shaped<typeof frame>;

const audio = members({
  file: word(["audio.wav"]),
  rate_hz: whole(16_000, 16_000),
  channels: whole(1, 1),
  bits: whole(16, 16),
  samples: count,
  /** When the first sample was heard, by when the last one was received. */
  start_t_ms: orNull.number,
  /** The same on the sender's clock. */
  source_t_ms: optional(orNull.number),
});

/** A file of the folder other than feedback.json. */
const file = members({
  path: pathShape,
  bytes: count,
  sha256: digest,
  media_type: that(({ length }) => length >= 1 && length <= 100),
});
export type FileEntry = Shaped<typeof file>;

/** feedback.json whole, but for its last line, the CRC. */
export const manifestShape = members({
  /** The last 12 hex digits of `uuid`. */
  id,
  timestamp: anyNumber,
  /** In UTC, as in the name. */
  timestamp_str: matching(/^\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d$/),
  sentiment: word(sentiments),
  what: text(),
  trigger: text(),
  num_messages: count,
  num_frames: count,
  /** Chunks as they were fed that reach into the window. */
  audio_chunks: count,
  /** The run's id. */
  session_id: text(),
  chat_id: orNull.text,
  provider: orNull.text,
  model: orNull.text,
  source,
  audio_samples: count,
  schema: word([feedbackSchema]),
  /** UUIDv7: the idempotency key. */
  uuid: that(isUuidV7),
  /** Of the folder: `<timestamp_str>_<sentiment>_fb_<id>`. */
  name: that(isPackageName),
  channel,
  /** Its sign is that of the sentiment. */
  score: number(-1, 1),
  correction: nullable(correction),
  annotator,
  target: nullable(target),
  /** Why there is no target. */
  target_reason: nullable(targetReason),
  /** The turn whose message is the praise, or in which the model called a `remember_` skill. */
  trigger_turn: nullable(
    // Its user message, and where that is in messages.json; null when it is not there.
    members({ turn_id: orNull.text, message_id: orNull.text, index: orNull.count }),
  ),
  people: list(text(), 1_000),
  /** The words that fired an automatic record. */
  matched: list(text(), 1_000),
  consent: consentShape,
  /** Of a stream, or of `latched` or the `label`. */
  redactions: list(members({ stream: text(), count, rule: text() }), 10_000),
  reduced: nullable(reduced),
  supersedes: orNull.text,
  trace: nullable(members({ trace_id: text(), span_id: text() })),
  latched: record(anything),
  window,
  frames: list(frame, 1_000_000),
  audio: nullable(audio),
  software: members({ name: text(), version: text() }),
  /** When it was first about to be saved. */
  sealed_timestamp: anyNumber,
  /** In the order of their upload. */
  files: list(file, 1_000_002),
});
export type Manifest = Shaped<typeof manifestShape>;

/** All of feedback.json that is known before a byte is written. */
export type PackageRecord = Omit<Manifest, "files">;

const role = word(["USER", "ASSISTANT", "SYSTEM", "TOOL"]);
export type MessageRole = Shaped<typeof role>;

const message = members({
  role,
  text: text(),
  timestamp: orNull.number,
  id: text(),
  seq: count,
  turn_id: orNull.text,
  t_ms: orNull.number,
  /** The kind of text that we injected, such as `pat_hint`: never a target or a completion. */
  synthetic: orNull.text,
  interrupted: flag(),
  /** What was spoken or shown of `text`, where that is known to differ. */
  delivered: orNull.text,
  truncated: flag(),
  tool_calls: anything,
  tool_call_id: orNull.text,
});

/** messages.json. */
export const messagesShape = list(message, 100_000);

/** One item of messages.json. */
export type PackageMessage = Shaped<typeof message> & {
  /** Of a USER message: who of a group said it. */
  readonly name?: string | undefined;
  /** Of a USER message: its files. Those that the package has are `attachments/<sha256>`. */
  readonly attachments?: readonly Attachment[] | undefined;
};

/** Where a copy is, or is to go. `endpoint` null is AWS. */
const uploadTarget = members({ bucket: text(), region: orNull.text, endpoint: orNull.text });
export type UploadTarget = Shaped<typeof uploadTarget>;

/** A prefix in a bucket: of each key, with its last slash. */
const place = members({ target: uploadTarget, prefix: text() });
export type BucketPlace = Shaped<typeof place>;

/** Why an attempt failed; never what anybody said. */
const uploadError = members({ class: text(), code: orNull.text, status: orNull.number });
export type UploadError = Shaped<typeof uploadError>;

const markFields = { timestamp: anyNumber, by: orNull.text, reason: orNull.text };
const mark = members(markFields);

/**
 * What a bucket has to be told: `pending`, that a package or its retraction is to go there; `failed`, that
 * the last attempt failed and another follows; `dead`, that none follows by itself; `done`.
 */
const uploadNote = members({
  state: word(["pending", "failed", "dead", "done"]),
  target: uploadTarget,
  prefix: text(),
  /** Whether the folder stays here once it is uploaded: not in mode `s3`. */
  keep_local: flag(),
  since: anyNumber,
  /** Of the package's files. */
  bytes: count,
  error: nullable(uploadError),
});
export type UploadNote = Shaped<typeof uploadNote>;

/** `<name>.tombstone.json`: something that is forgotten here, and that a bucket may still have. */
export const tombstoneShape = members({
  state: word(["pending", "failed", "dead"]),
  /** Where it may be; nowhere: the bytes of this file are damaged. */
  places: list(place),
  since: anyNumber,
  error: nullable(uploadError),
});
export type Tombstone = Shaped<typeof tombstoneShape>;

const owners = members({
  chat_id: orNull.text,
  people: list(text()),
  /** The ids of its messages. */
  messages: list(text()),
  /** Of a person's reaction to a message that was named: what it is about, and what tells which is newer. */
  judged: optional(
    members({ message_ids: list(text()), timestamp: anyNumber, supersedes: orNull.text }),
  ),
});
export type PackageOwners = Shaped<typeof owners>;

/** `<name>.status.json`, beside the folder: local, replaced whole, never uploaded. */
export const statusShape = members({
  /** Copies in buckets that were read back. */
  uploaded: list(members({ bucket: text(), prefix: text(), timestamp: anyNumber })),
  preserved: nullable(mark),
  retracted: nullable(members({ ...markFields, superseded_by: orNull.text })),
  /** What a bucket has to be told of it; absent: none ever had to. */
  upload: optional(uploadNote),
  /** Of a package that is, or is about to be, in a bucket alone: whose it is, for forgetting. */
  of: optional(owners),
});
export type PackageStatus = Shaped<typeof statusShape>;

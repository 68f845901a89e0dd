import { isPackageName, isUuidV7 } from "./package-name.ts";
import { feedbackSchema } from "./record.ts";
import {
  anyBoolean,
  anyCount,
  anyNumber,
  anyObject,
  anyString,
  anything,
  list,
  matching,
  members,
  oneOf,
  orNull,
  type Shape,
  text,
  that,
} from "./shape.ts";

const stamp = /^\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d$/;
/** No other path exists in a package, so none can lead out of it. */
const path = /^(messages\.json|audio\.wav|frames\/\d{6}\.jpg|attachments\/[0-9a-f]{64})$/;
const uuid = that(isUuidV7);
const id = matching(/^[0-9a-f]{12}$/);
const nullOrString = orNull(anyString);
const nullOrNumber = orNull(anyNumber);

const target = members({
  turn_id: nullOrString,
  message_ids: list(anyString, 1_000),
  index: anyCount,
  count: anyCount,
  how: oneOf("explicit", "answering", "last-assistant"),
  partial: anyBoolean,
  interrupted: anyBoolean,
});

const frame = members({
  file: matching(/^frames\/\d{6}\.jpg$/),
  t_ms: nullOrNumber,
  timestamp: nullOrNumber,
  seq: orNull(anyCount),
  width: anyCount,
  height: anyCount,
  camera: nullOrString,
  source_t_ms: nullOrNumber,
});

const audio = members({
  file: oneOf("audio.wav"),
  rate_hz: oneOf(16_000),
  channels: oneOf(1),
  bits: oneOf(16),
  samples: anyCount,
  start_t_ms: nullOrNumber,
});

const consent = members({
  messages: anyBoolean,
  frames: anyBoolean,
  audio: anyBoolean,
  upload: anyBoolean,
  export: anyBoolean,
  wording: nullOrString,
  timestamp: nullOrNumber,
  by: nullOrString,
});

const clock = members({
  mono_ms: anyNumber,
  boot_id: nullOrString,
  zone: nullOrString,
  steps: list(members({ t_ms: anyNumber, by_ms: anyNumber }), 100_000),
  suspends: list(members({ t_ms: anyNumber, ms: anyNumber }), 100_000),
});

const window = members({
  pre_ms: anyNumber,
  post_ms: anyNumber,
  from: oneOf("ring", "transcript"),
  first_seq: orNull(anyCount),
  last_seq: orNull(anyCount),
  overlaps: list(members({ id, ms: anyNumber }), 10_000),
});

const file = members({
  path: matching(path),
  bytes: anyCount,
  sha256: matching(/^[0-9a-f]{64}$/),
  media_type: text(1, 100),
});

/** Every member of feedback.json of `throughline.feedback/1`, but for the CRC. */
export const manifestShape: Shape = members({
  id,
  timestamp: anyNumber,
  timestamp_str: matching(stamp),
  sentiment: oneOf("positive", "negative"),
  what: anyString,
  trigger: anyString,
  num_messages: anyCount,
  num_frames: anyCount,
  audio_chunks: anyCount,
  session_id: anyString,
  chat_id: nullOrString,
  provider: nullOrString,
  model: nullOrString,
  source: oneOf("skill", "http", "cli", "auto"),
  audio_samples: anyCount,
  schema: oneOf(feedbackSchema),
  uuid,
  name: that(isPackageName),
  channel: oneOf("touch", "speech", "text", "button", "other"),
  score: that((value) => typeof value === "number" && Math.abs(value) <= 1),
  correction: orNull(members({ text: anyString, kind: oneOf("replacement", "note") })),
  annotator: members({ kind: oneOf("human", "model", "code"), id: nullOrString }),
  target: orNull(target),
  target_reason: orNull(oneOf("no_assistant_turn", "too_old")),
  trigger_turn: orNull(
    members({ turn_id: nullOrString, message_id: nullOrString, index: orNull(anyCount) }),
  ),
  people: list(anyString, 1_000),
  matched: list(anyString, 1_000),
  consent,
  redactions: list(members({ stream: anyString, count: anyCount, rule: anyString }), 10_000),
  reduced: orNull(oneOf("rate_cap", "old_target", "consent", "disk_full")),
  supersedes: nullOrString,
  trace: orNull(members({ trace_id: anyString, span_id: anyString })),
  latched: anyObject,
  clock,
  window,
  frames: list(frame, 1_000_000),
  audio: orNull(audio),
  software: members({ name: anyString, version: anyString }),
  sealed_timestamp: anyNumber,
  files: list(file, 1_000_002),
});

const messageShape = members({
  role: oneOf("USER", "ASSISTANT", "SYSTEM", "TOOL"),
  text: anyString,
  timestamp: nullOrNumber,
  id: anyString,
  seq: anyCount,
  turn_id: nullOrString,
  t_ms: nullOrNumber,
  synthetic: nullOrString,
  interrupted: anyBoolean,
  delivered: nullOrString,
  truncated: anyBoolean,
  tool_calls: anything,
  tool_call_id: nullOrString,
});

/** messages.json. */
export const messagesShape: Shape = list(messageShape, 100_000);

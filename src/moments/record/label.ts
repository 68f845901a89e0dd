import { invalid } from "../../core/errors.ts";
import { list, nullable, number, optional, Place, type Read, word } from "../../core/shape.ts";
import { sentiments } from "../package/package-name.ts";
import {
  type Annotator,
  channel,
  matching,
  members,
  type Source,
  source,
} from "../package/record.ts";
import { chars, type NewMessage, named } from "./messages.ts";

const labelShape = members({
  sentiment: word(sentiments),
  /** What was liked or disliked. */
  what: chars(1, 2_000),
  /** What showed it, such as `head scratch`. @default "" */
  trigger: optional(chars(0, 500)),
  source,
  /** @default "other" */
  channel: optional(channel),
  /** Its sign is that of the sentiment. @default 1 or -1 */
  score: optional(number(-1, 1)),
  correction: optional(members({ text: chars(1, 8_000), kind: word(["replacement", "note"]) })),
  /** @default by the source: a skill with a trigger relays a person, without one the model judged */
  annotator: optional(
    members({ kind: word(["human", "model", "code"]), id: nullable(chars(1, 200)) }),
  ),
  /** Goes on for this many milliseconds after the reaction. @default 0 */
  postRollMs: optional(number(0, 30_000)),
  /** @default the chat of the newest message */
  chatId: named,
  provider: named,
  model: named,
  /** The turn in which it was expressed. A skill names the turn in which it was called. */
  turnId: named,
  /** The message in which it was expressed. */
  messageId: named,
  /** A message of the turn that it is about. */
  targetMessageId: named,
  /** The same one again gets the first receipt. */
  idempotencyKey: optional(chars(1, 255)),
  /** The id of a package that this one corrects. */
  supersedes: optional(matching(/^[0-9a-f]{12}$/)),
  /** The words that fired it. */
  matched: optional(list(chars(1, 500), 100)),
});

/** A reaction, as a request gives it. */
export type MomentInput = Read<typeof labelShape> & {
  /** Where the target is older than the buffers: up to 50 messages, ending with its turn. */
  readonly transcript?: readonly TranscriptMessage[] | undefined;
};

export interface TranscriptMessage extends NewMessage {
  readonly id: string;
  /** Milliseconds since 1970. */
  readonly atMs?: number | undefined;
}

/** What a request says, each within its bounds, defaults filled in. */
export type Label = ReturnType<typeof checkLabel>;

/** @throws ThroughlineError `THROUGHLINE_INVALID`: nothing was recorded. */
export function checkLabel(input: MomentInput) {
  const at = new Place();
  const label = labelShape.read(input, at);
  const { sentiment, what, trigger = "", source, channel = "other", postRollMs = 0 } = label;
  const sign = sentiment === "positive" ? 1 : -1;
  const { score = sign, correction = null } = label;
  if (score * sign <= 0) at.in("score").says(`must be ${sign > 0 ? "above" : "below"} 0`);
  const [wrong] = at.problems;
  if (wrong !== undefined) throw invalid([wrong.path.join("."), wrong.says].join(" "));
  const { annotator = defaultAnnotator(source, trigger) } = label;
  return { sentiment, what, trigger, source, channel, score, correction, annotator, postRollMs };
}

function defaultAnnotator(source: Source, trigger: string): Annotator {
  if (source === "auto") return { kind: "code", id: null };
  return { kind: source === "skill" && trigger === "" ? "model" : "human", id: null };
}

/** Without consent to words nothing is judged, and no words come in by another way. */
export function withoutWords({
  transcript: _,
  targetMessageId: __,
  turnId: ___,
  messageId: ____,
  ...label
}: MomentInput): MomentInput {
  return label;
}

import { invalid } from "../../core/errors.ts";
import { list, nullable, number, optional, Place, word } from "../../core/shape.ts";
import { sentiments } from "../package/package-name.ts";
import {
  type Annotator,
  type Channel,
  type Correction,
  channel,
  matching,
  members,
  type Sentiment,
  type Source,
  source,
} from "../package/record.ts";
import { chars, type NewMessage, named } from "./messages.ts";

/** A reaction, as a request gives it. */
export interface MomentInput {
  readonly sentiment: Sentiment;
  /** What was liked or disliked: 1 to 2,000 characters. */
  readonly what: string;
  /** What showed it, such as `head scratch`: up to 500 characters. @default "" */
  readonly trigger?: string | undefined;
  readonly source: Source;
  /** @default "other" */
  readonly channel?: Channel | undefined;
  /** -1 to 1, its sign that of the sentiment. @default 1 or -1 */
  readonly score?: number | undefined;
  readonly correction?: Correction | undefined;
  /** @default by the source: a skill with a trigger relays a person, without one the model judged */
  readonly annotator?: Annotator | undefined;
  /** @default the chat of the newest message */
  readonly chatId?: string | undefined;
  readonly provider?: string | undefined;
  readonly model?: string | undefined;
  /** The turn in which it was expressed. A skill names the turn in which it was called. */
  readonly turnId?: string | undefined;
  /** The message in which it was expressed. */
  readonly messageId?: string | undefined;
  /** A message of the turn that it is about. */
  readonly targetMessageId?: string | undefined;
  /** Where the target is older than the buffers: up to 50 messages, ending with its turn. */
  readonly transcript?: readonly TranscriptMessage[] | undefined;
  /** Goes on for so long after the reaction: 0 to 30,000. @default 0 */
  readonly postRollMs?: number | undefined;
  /** 1 to 255 characters: the same one again gets the first receipt. */
  readonly idempotencyKey?: string | undefined;
  /** The id of a package that this one corrects. */
  readonly supersedes?: string | undefined;
  /** The words that fired it. */
  readonly matched?: readonly string[] | undefined;
}

export interface TranscriptMessage extends NewMessage {
  readonly id: string;
  /** Milliseconds since 1970. */
  readonly atMs?: number | undefined;
}

const labelShape = members({
  sentiment: word(sentiments),
  what: chars(1, 2_000),
  trigger: optional(chars(0, 500)),
  source,
  channel: optional(channel),
  score: optional(number(-1, 1)),
  correction: optional(members({ text: chars(1, 8_000), kind: word(["replacement", "note"]) })),
  annotator: optional(
    members({ kind: word(["human", "model", "code"]), id: nullable(chars(1, 200)) }),
  ),
  postRollMs: optional(number(0, 30_000)),
  chatId: named,
  provider: named,
  model: named,
  turnId: named,
  messageId: named,
  targetMessageId: named,
  idempotencyKey: optional(chars(1, 255)),
  supersedes: optional(matching(/^[0-9a-f]{12}$/)),
  matched: optional(list(chars(1, 500), 100)),
});

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

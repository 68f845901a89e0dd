// What the talk view shows of one chat, as a value, and how it changes.
import { messageIdFor } from "../../api/client.ts";
import type { Message, Retrying } from "../../api/openapi-types.ts";
import type { Model } from "../models/model-names.ts";
import type { DraftFile } from "./files/draft-files.ts";

/** A message that was sent and is not in the chat yet. */
export interface Waiting {
  /** The same for every attempt, so that trying again never says it twice. */
  readonly key: string;
  readonly content: string;
  readonly files?: readonly DraftFile[] | undefined;
  /**
   * `waiting`: the server has it, and another turn runs. `lost`: the server had it, and ended.
   * `failed`: `error` says why. `unsure`: the page was closed before the server confirmed it.
   */
  readonly state: "sending" | "waiting" | "lost" | "failed" | "unsure";
  readonly error?: unknown;
}

/** The answer that is coming in. */
export interface Live {
  /** The id of the message that is answered; "" before the server named it. */
  readonly turnId: string;
  /** Text and reasoning since the last stored tool call. */
  readonly text: string;
  readonly reasoning: string;
  readonly isStopping: boolean;
  /** Its provider is called again at this time, in epoch milliseconds. */
  readonly retrying?: (Retrying & { readonly atMs: number }) | undefined;
  /** Its stream ended before it did. */
  readonly isBroken?: true;
}

export interface FeedState {
  readonly status: "loading" | "ready" | "failed";
  /** Why loading failed. */
  readonly error?: unknown;
  /** The end of the chat as far back as it was read, by `seq`. */
  readonly messages: readonly Message[];
  /** Asks for the page before; `undefined`: this is the beginning. */
  readonly before: number | undefined;
  readonly older: "idle" | "loading" | "failed";
  readonly live: Live | undefined;
  /** The turn that was followed last; another attempt at it has another key. */
  readonly followed: { readonly turnId: string; readonly key: string } | undefined;
  /** What was typed and not sent. */
  readonly draft: string;
  /** What was attached and not sent. */
  readonly files: readonly DraftFile[];
  /** The model that was chosen for the next message; `undefined`: none was. */
  readonly model: Model | undefined;
  readonly waiting: readonly Waiting[];
  /** Notices that came with the newest answer. The chat does not store them. */
  readonly notices: readonly string[];
  /** What went wrong last, and how to try again. */
  readonly trouble: { readonly error: unknown; readonly retry?: () => void } | undefined;
}

export const emptyFeed: FeedState = {
  status: "loading",
  messages: [],
  before: undefined,
  older: "idle",
  live: undefined,
  followed: undefined,
  draft: "",
  files: [],
  model: undefined,
  waiting: [],
  notices: [],
  trouble: undefined,
};

/** Inserts a message at its place, or replaces its older form. */
export function withMessage(messages: readonly Message[], message: Message): readonly Message[] {
  const last = messages.at(-1);
  if (last === undefined || last.seq < message.seq) return [...messages, message];
  const at = messages.findLastIndex(({ seq }) => seq <= message.seq);
  const isSame = messages[at]?.id === message.id;
  return isSame ? messages.with(at, message) : messages.toSpliced(at + 1, 0, message);
}

/** Inserts an answer. That of a retry replaces the answer before, and the calls that led to it. */
export function withAnswer(messages: readonly Message[], answer: Message): readonly Message[] {
  if (!isRegenerated(answer)) return withMessage(messages, answer);
  const retry = retryOf(answer);
  const isReplaced = (each: Message) =>
    each.role !== "user" && each.turn === answer.turn && retryOf(each) !== retry;
  const rest = messages.some(isReplaced) ? messages.filter((each) => !isReplaced(each)) : messages;
  return withMessage(rest, answer);
}

/** Whether an answer takes the place of another one. */
export function isRegenerated(answer: Message): boolean {
  return retryOf(answer) !== undefined && answer.id.startsWith(`${answer.turn}:answer`);
}

/** Which retry made a message: of `t:answer:r` and `t:call:r:1` it is "r", else `undefined`. */
function retryOf({ id, turn }: Message): string | undefined {
  if (turn === undefined || !id.startsWith(`${turn}:`)) return undefined;
  const [kind, ...rest] = id.slice(turn.length + 1).split(":");
  const name = (kind === "answer" ? rest : rest.slice(0, -1)).join(":");
  return name === "" ? undefined : name;
}

/**
 * Replaces the newest messages with the newest page. Older messages stay if both meet; if not, too much
 * was added in between, and only the page is left.
 *
 * @param known the messages when the page was requested: what came since is newer than the page.
 */
export function withNewest(
  state: Pick<FeedState, "messages" | "before">,
  page: Pick<FeedState, "messages" | "before">,
  known: readonly Message[],
): Pick<FeedState, "messages" | "before"> {
  const first = page.messages[0];
  const last = page.messages.at(-1)?.seq ?? 0;
  const ids = new Set(known.map(({ id }) => id));
  const since = state.messages.filter(({ id, seq }) => seq > last && !ids.has(id));
  // Past the newest message of the person other answers may be shown now than those that are here.
  const isWhole = page.messages.some(({ role }) => role === "user");
  const meets = isWhole && first !== undefined && state.messages.some(({ id }) => id === first.id);
  const older = meets ? state.messages.filter(({ seq }) => seq < first.seq) : [];
  return {
    messages: [...older, ...page.messages, ...since],
    before: meets ? state.before : page.before,
  };
}

/** Removes the entry of a message that is stored now. */
export function withoutWaiting(waiting: readonly Waiting[], id: string): readonly Waiting[] {
  const at = waiting.findIndex(({ key }) => messageIdFor(key) === id);
  return at < 0 ? waiting : waiting.toSpliced(at, 1);
}

/** Removes the entries of messages that were stored although the response was lost. */
export function withoutStored(
  waiting: readonly Waiting[],
  messages: readonly Message[],
): readonly Waiting[] {
  const ids = new Set(messages.map(({ id }) => id));
  return waiting.filter(({ key, state }) => state === "sending" || !ids.has(messageIdFor(key)));
}

/** Without an answer, and what led to it. */
export function withoutAnswer(
  messages: readonly Message[],
  { id, turn }: Message,
): readonly Message[] {
  const isOfTurn = (each: Message) => turn !== undefined && each.turn === turn;
  return messages.filter((each) => each.id !== id && (each.role === "user" || !isOfTurn(each)));
}

/** Whether it may still be stored without being sent again. */
export function isOnItsWay({ state }: Waiting): boolean {
  return state === "sending" || state === "waiting";
}

/** Whether it is shown as a row: text, reasoning, tool calls, and the mark of an erased one. */
export function isShown(message: Message): boolean {
  if (message.redacted === true) return true;
  const { role, hidden, content, tool_calls: calls = [] } = message;
  if ((message.attachments?.length ?? 0) > 0 && role === "user" && hidden !== true) return true;
  const isSpoken = role === "user" || role === "assistant";
  if (!isSpoken || hidden === true) return false;
  const isThought = (message.reasoning_content ?? "") !== "";
  return content !== "" || calls.length > 0 || isThought;
}

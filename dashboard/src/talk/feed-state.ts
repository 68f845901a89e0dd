// What the talk view shows of one chat, as a value, and how it changes.
import type { Message } from "../api/types.ts";

/** What was sent and is not in the chat yet. */
export interface Waiting {
  /** The same for every attempt, so that trying again never says it twice. */
  readonly key: string;
  readonly content: string;
  /**
   * `waiting`: the server has it, and another turn runs. `lost`: it had it, and then it ended.
   * `failed`: `error` says why.
   */
  readonly state: "sending" | "waiting" | "lost" | "failed";
  readonly error?: unknown;
}

/** The answer that is coming in. */
export interface Live {
  /** The id of the message that is answered; "" before the server named it. */
  readonly turnId: string;
  readonly text: string;
  readonly isStopping: boolean;
}

/** Something that the server told beside what was said. It is gone after a reload. */
export interface Note {
  readonly key: string;
  readonly text: string;
  /** The message after which it came. */
  readonly afterSeq: number;
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
  /** The turn that was followed last. */
  readonly followed: string | undefined;
  readonly waiting: readonly Waiting[];
  readonly notes: readonly Note[];
  /** What went wrong last, and how to try again. */
  readonly trouble: { readonly error: unknown; readonly retry?: () => void } | undefined;
}

export const emptyFeed: FeedState = {
  ...{ status: "loading", messages: [], before: undefined, older: "idle" },
  ...{ live: undefined, followed: undefined, waiting: [], notes: [], trouble: undefined },
};

/** With a message in its place, or its newer form in the place of the older. */
export function withMessage(messages: readonly Message[], message: Message): readonly Message[] {
  const last = messages.at(-1);
  if (last === undefined || last.seq < message.seq) return [...messages, message];
  const at = messages.findLastIndex(({ seq }) => seq <= message.seq);
  const isSame = messages[at]?.id === message.id;
  return isSame ? messages.with(at, message) : messages.toSpliced(at + 1, 0, message);
}

/**
 * The newest page in the place of what was there of it. What is older stays where both meet; where
 * they do not, too much happened meanwhile, and only the page is left.
 */
export function withNewest(state: FeedState, page: Pick<FeedState, "messages" | "before">) {
  const first = page.messages[0];
  if (first === undefined) return { messages: [], before: undefined };
  const meets = state.messages.some(({ id }) => id === first.id);
  if (!meets) return page;
  const older = state.messages.filter(({ seq }) => seq < first.seq);
  return { messages: [...older, ...page.messages], before: state.before };
}

/** Without the first that waited with these words: the server has stored them. */
export function withoutWaiting(waiting: readonly Waiting[], content: string): readonly Waiting[] {
  const at = waiting.findIndex((each) => each.content === content && each.state !== "failed");
  return at < 0 ? waiting : waiting.toSpliced(at, 1);
}

/** Whether a person sees it: what was said, and where something was hidden. */
export function isShown({ role, hidden, content, redacted }: Message): boolean {
  const isSpoken = role === "user" || role === "assistant";
  return isSpoken && hidden !== true && (content !== "" || redacted === true);
}

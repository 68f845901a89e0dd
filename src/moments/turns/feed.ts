import type { Companion } from "../../companion/companion.ts";
import { hear } from "../../companion/emotion/triggers.ts";
import { answerId } from "../../core/chat/turn-ids.ts";
import { isThroughlineError } from "../../core/errors.ts";
import { randomId } from "../../core/ids.ts";
import type { Turn } from "../../core/turns/turn.ts";
import type { Turns } from "../../core/turns/turns.ts";
import type { AutoEvent } from "../record/auto-record.ts";
import type { MomentRecorder } from "../record/moment-recorder.ts";
import { reactionsPrompt } from "../record/skills.ts";

export interface FeedOptions {
  /** Whether models are offered the skills: then the prompt that they get says so. @default false */
  readonly withSkills?: boolean;
  /** Is told of a person's words that hurt, if `companion` is one that they hurt. */
  readonly happened?: (event: AutoEvent, chatId: string) => unknown;
  readonly companion?: Companion;
}

/**
 * Feeds the rolling buffers with what is said: the person's words once they are stored, the answer as it
 * comes out, and who made it. @returns what ends it.
 */
export function feedTurns(
  turns: Turns,
  recorder: MomentRecorder,
  persona: string,
  options: FeedOptions = {},
): () => void {
  recorder.latch("persona", persona);
  const prompt = options.withSkills === true ? [persona, reactionsPrompt] : [persona];
  recorder.latch("system_prompt", prompt.filter((part) => part !== "").join("\n\n"));
  return turns.onTurn((turn) => {
    feed(turn, recorder, options).catch((error) => {
      // Its owner hears. A chat that was forgotten meanwhile leaves no words that came after that.
      if (isThroughlineError(error, "THROUGHLINE_NOT_FOUND")) void recorder.forgetChat(turn.chatId);
    });
  });
}

/** Feeds what the companion feels, and whom it sees. @returns what ends it. */
export function feedCompanion(companion: Companion, recorder: MomentRecorder): () => void {
  recorder.latchLive("mood", () => companion.emotions.tone);
  return companion.onChange((change) => {
    if (change.type === "person") recorder.saw(change.person.name);
  });
}

async function feed(turn: Turn, recorder: MomentRecorder, options: FeedOptions): Promise<void> {
  const { chatId } = turn;
  // Known before the answer is stored: who reacts while it comes out means this one.
  const answer = answerId(turn.id, turn.retryId);
  let text = "";
  let turnId = turn.id;
  let isAnew = turn.retryId !== undefined;
  /** From its first word on, a new answer takes the place of the one before. */
  const begins = () => {
    if (isAnew) recorder.answersAnew(chatId, turnId);
    isAnew = false;
  };
  for await (const item of turn.progress()) {
    if (item.type === "accepted") {
      const { id, content } = item.user;
      turnId = item.user.turn ?? id;
      // As it was stored, so that one that is answered anew keeps its mark.
      const { synthetic: mark } = item.user;
      const synthetic = mark === undefined ? {} : { synthetic: mark };
      recorder.message({ role: "user", text: content, id, chatId, turnId, ...synthetic });
      if (mark === undefined && turn.retryId === undefined) {
        tellWords(content, { chatId, messageId: id }, options);
      }
    } else if (item.type === "text") {
      begins();
      text += item.text;
      recorder.message({ role: "assistant", text, id: answer, chatId, turnId, live: true });
    } else if (item.type === "message") {
      const { id, role, content } = item.message;
      if (role !== "assistant" || content === "") continue;
      begins();
      // It came out under the answer's id. A person who hides it names the message that it is in now.
      recorder.dropWords(chatId, answer);
      recorder.message({ role, text: content, id, chatId, turnId });
      text = "";
    } else if (item.type === "result") {
      const { assistant } = item.answer;
      if (assistant === undefined) continue;
      begins();
      recorder.latch("provider", assistant.provider ?? null);
      recorder.latch("model", assistant.model ?? null);
      const interrupted = assistant.partial === true;
      const { id, content } = assistant;
      recorder.message({ role: "assistant", text: content, id, chatId, turnId, interrupted });
    }
  }
}

/** Which words hurt, whatever was felt of them: of words in a row the feelings count the first alone. */
function tellWords(
  text: string,
  { chatId, messageId }: { readonly chatId: string; readonly messageId: string },
  { companion, happened }: FeedOptions,
): void {
  if (companion === undefined || happened === undefined) return;
  const { configuration, state } = companion.emotions;
  const fresh = { ...state, anchor: { ...state.anchor, heardAt: {} } };
  const { heard } = hear(configuration, fresh, text, randomId);
  const matched = heard.map(({ words }) => words.slice(0, 500)).filter((words) => words !== "");
  if (matched.length === 0) return;
  happened({ kind: "words", matched, messageId, channel: "text" }, chatId);
}

import type { StoredMessage } from "../../core/chat/message.ts";
import { answerId } from "../../core/chat/record-ids.ts";
import type { Turn } from "../../core/turns/turn.ts";
import type { Moments } from "../moments.ts";
import type { MomentsSettings } from "../options.ts";
import type { MomentRecorder } from "../record/moment-recorder.ts";
import { reactionsPrompt } from "./skills.ts";
import { transcriptMessage } from "./transcript.ts";

/** The persona, and what models are told beside it, as packages keep them. */
export function capturePrompt(
  recorder: MomentRecorder,
  persona: string | (() => string),
  withSkills: boolean,
): void {
  const now = typeof persona === "function" ? persona : () => persona;
  recorder.captureLive("persona", now);
  recorder.captureLive("system_prompt", () => {
    const prompt = withSkills ? [now(), reactionsPrompt] : [now()];
    return prompt.filter((part) => part !== "").join("\n\n");
  });
}

/** What is fed, and which of a person's words hurt. */
export interface Fed extends Pick<MomentsSettings, "hurtful"> {
  readonly moments: Pick<Moments, "recorder" | "happened">;
}

/** Feeds the rolling buffers with what was said: the label with who made it, the rules with words that hurt. */
export function hear(chatId: string, message: StoredMessage, { moments, hurtful }: Fed): void {
  const { recorder } = moments;
  const { id, role, content, synthetic, provider = null, model = null } = message;
  recorder.message(transcriptMessage(chatId, message));
  if (role === "assistant") {
    recorder.capture("provider", provider);
    recorder.capture("model", model);
  }
  const matched = role === "user" && synthetic === undefined ? hurtful(content) : [];
  if (matched.length > 0) {
    moments.happened({ kind: "words", matched, messageId: id, channel: "text" }, chatId);
  }
}

/** Feeds the rolling buffers with one turn: the person's words, and the answer as it comes out. */
export async function feedTurn(turn: Turn, recorder: MomentRecorder): Promise<void> {
  const { chatId } = turn;
  // Known before the answer is stored: who reacts while it comes out means this one.
  const answer = answerId(turn.id, turn.retryId);
  let text = "";
  let turnId = turn.id;
  let isBegun = false;
  let isStored = false;
  /** The message that was fed last. */
  let fed: string | undefined;
  const feed = (message: Parameters<MomentRecorder["message"]>[0]) => {
    fed = message.id;
    recorder.message(message);
  };
  /** From its first word on, a new answer takes the place of the one before, for good once it is stored. */
  const begins = () => {
    if (turn.retryId !== undefined && !isBegun) recorder.regenerates(chatId, turnId);
    isBegun = true;
  };
  try {
    for await (const item of turn.progress()) {
      if (item.type === "accepted") {
        // As it was stored, so that a message keeps its mark when its answer is regenerated.
        turnId = item.user.turn ?? item.user.id;
        feed({ ...transcriptMessage(chatId, item.user), turnId });
      } else if (item.type === "text") {
        // It was taken away, as where the chat was cleared: what still comes of the answer is not judged.
        if (fed !== undefined && !recorder.has(chatId, fed)) continue;
        begins();
        text += item.text;
        feed({ role: "assistant", text, id: answer, chatId, turnId, live: true });
      } else if (item.type === "message") {
        const { id, role, content, hidden } = item.message;
        if (role !== "assistant" || content === "") continue;
        begins();
        // It came out under the answer's id. A person who hides it names the message that it is in now.
        recorder.removeWords(chatId, answer);
        if (!hidden) feed({ role, text: content, id, chatId, turnId });
        text = "";
      } else if (item.type === "result") {
        const { assistant } = item.answer;
        // What came after its period had ended is no answer that anybody could judge.
        if (assistant?.hidden) recorder.removeWords(chatId, answer);
        if (assistant === undefined || assistant.hidden) continue;
        begins();
        const interrupted = assistant.partial === true;
        const { id, content } = assistant;
        if (id !== answer) recorder.removeWords(chatId, answer);
        feed({ role: "assistant", text: content, id, chatId, turnId, interrupted });
        isStored = true;
      }
    }
  } catch {
    // Its owner hears. What came out and is not stored comes out no more.
    if (text !== "") recorder.removeWords(chatId, answer);
  }
  if (turn.retryId !== undefined && isBegun) recorder.regenerated(chatId, turnId, isStored);
}

import type { StoredMessage } from "../../core/chat/message.ts";
import { answerId } from "../../core/chat/record-ids.ts";
import { isThroughlineError } from "../../core/errors.ts";
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
export function feedTurn(turn: Turn, recorder: MomentRecorder): void {
  let hasBegun = false;
  const begun = () => {
    hasBegun = true;
  };
  feed(turn, recorder, begun).catch((error) => {
    // Its owner hears. One that never began left nothing, as where its message was erased while it waited.
    if (!hasBegun) return;
    // A chat that was forgotten leaves no words that came after that, any other none that seem to come out still.
    if (isThroughlineError(error, "THROUGHLINE_NOT_FOUND")) void recorder.forgetChat(turn.chatId);
    else recorder.removeWords(turn.chatId, answerId(turn.id, turn.retryId));
  });
}

async function feed(turn: Turn, recorder: MomentRecorder, begun: () => void): Promise<void> {
  const { chatId } = turn;
  // Known before the answer is stored: who reacts while it comes out means this one.
  const answer = answerId(turn.id, turn.retryId);
  let text = "";
  let turnId = turn.id;
  let isRegenerated = turn.retryId !== undefined;
  /** From its first word on, a new answer takes the place of the one before. */
  const begins = () => {
    if (isRegenerated) recorder.regenerates(chatId, turnId);
    isRegenerated = false;
  };
  for await (const item of turn.progress()) {
    if (item.type === "accepted") {
      begun();
      // As it was stored, so that a message keeps its mark when its answer is regenerated.
      turnId = item.user.turn ?? item.user.id;
      recorder.message({ ...transcriptMessage(chatId, item.user), turnId });
    } else if (item.type === "text") {
      begins();
      text += item.text;
      recorder.message({ role: "assistant", text, id: answer, chatId, turnId, live: true });
    } else if (item.type === "message") {
      const { id, role, content, hidden } = item.message;
      if (role !== "assistant" || content === "") continue;
      begins();
      // It came out under the answer's id. A person who hides it names the message that it is in now.
      recorder.removeWords(chatId, answer);
      if (!hidden) recorder.message({ role, text: content, id, chatId, turnId });
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
      recorder.message({ role: "assistant", text: content, id, chatId, turnId, interrupted });
    }
  }
}

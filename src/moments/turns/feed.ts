import { answerId } from "../../core/chat/turn-ids.ts";
import { isThroughlineError } from "../../core/errors.ts";
import type { Turn } from "../../core/turns/turn.ts";
import type { Moments, MomentsSettings } from "../moments.ts";
import type { MomentRecorder } from "../record/moment-recorder.ts";
import { reactionsPrompt } from "../record/skills.ts";
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

/**
 * Feeds the rolling buffers with one turn: the person's words once they are stored, the answer as it
 * comes out, and who made it.
 *
 * @param hurtful which of the person's words hurt.
 */
export function feedTurn(turn: Turn, to: Fed, hurtful: MomentsSettings["hurtful"]): void {
  feed(turn, to, hurtful).catch((error) => {
    // Its owner hears. A chat that was forgotten since leaves no words that came after that.
    if (isThroughlineError(error, "THROUGHLINE_NOT_FOUND")) {
      void to.recorder.forgetChat(turn.chatId);
    }
  });
}

/** What a turn is fed to. */
type Fed = Pick<Moments, "recorder" | "happened">;

async function feed(turn: Turn, to: Fed, hurtful: MomentsSettings["hurtful"]): Promise<void> {
  const { recorder } = to;
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
      // As it was stored, so that a message keeps its mark when its answer is regenerated.
      const said = transcriptMessage(chatId, item.user);
      const { id, text: content } = said;
      turnId = said.turnId ?? id;
      recorder.message(said);
      if (said.synthetic === undefined && turn.retryId === undefined) {
        const matched = hurtful(content);
        if (matched.length > 0) {
          to.happened({ kind: "words", matched, messageId: id, channel: "text" }, chatId);
        }
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
      recorder.removeWords(chatId, answer);
      recorder.message({ role, text: content, id, chatId, turnId });
      text = "";
    } else if (item.type === "result") {
      const { assistant } = item.answer;
      if (assistant === undefined) continue;
      begins();
      recorder.capture("provider", assistant.provider ?? null);
      recorder.capture("model", assistant.model ?? null);
      const interrupted = assistant.partial === true;
      const { id, content } = assistant;
      recorder.message({ role: "assistant", text: content, id, chatId, turnId, interrupted });
    }
  }
}

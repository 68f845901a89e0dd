import type { MomentRecorder } from "../memories/moment/moment-recorder.ts";
import type { Turn } from "./turn.ts";
import { answerId } from "./turn-records.ts";
import type { Turns } from "./turns.ts";

/**
 * Feeds the rolling buffers with what is said: the person's words once they are stored, the answer as it
 * comes out, and who made it. @returns what ends it.
 */
export function feedTurns(turns: Turns, recorder: MomentRecorder, persona: string): () => void {
  recorder.latch("system_prompt", persona);
  return turns.onTurn((turn) => void feed(turn, recorder).catch(() => undefined)); // its owner hears
}

async function feed(turn: Turn, recorder: MomentRecorder): Promise<void> {
  const { chatId } = turn;
  // Known before the answer is stored: who reacts while it comes out means this one.
  const answer = answerId(turn.id, turn.retryId);
  let text = "";
  let turnId = turn.id;
  for await (const item of turn.progress()) {
    if (item.type === "accepted") {
      const { id, content } = item.user;
      turnId = item.user.turn ?? id;
      recorder.message({ role: "user", text: content, id, chatId, turnId });
    } else if (item.type === "text") {
      text += item.text;
      recorder.message({ role: "assistant", text, id: answer, chatId, turnId, live: true });
    } else if (item.type === "result") {
      const { assistant } = item.answer;
      if (assistant === undefined) continue;
      recorder.latch("provider", assistant.provider ?? null);
      recorder.latch("model", assistant.model ?? null);
      const interrupted = assistant.partial === true;
      const { id, content } = assistant;
      recorder.message({ role: "assistant", text: content, id, chatId, turnId, interrupted });
    }
  }
}

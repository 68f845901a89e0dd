import type { Context } from "../../cli/command.ts";
import { Exit, exitCodes } from "../../cli/failure.ts";
import { json } from "../../cli/format.ts";
import { tell, write } from "../../cli/io.ts";
import { invalid } from "../../core/errors.ts";
import type { MomentInput } from "../record/label.ts";
import { lastAnswer, transcriptUpTo } from "../turns/transcript.ts";
import { type JsonFlag, withMoments } from "./feedback.ts";

interface RecordFlags extends JsonFlag {
  readonly sentiment: MomentInput["sentiment"];
  readonly what: string;
  readonly trigger?: string;
  readonly chat: string;
  readonly message?: string;
  readonly score?: number;
  readonly correction?: string;
  readonly note?: string;
}

/**
 * `feedback record`: a reaction to an answer in a chat's log.
 *
 * @throws Exit with 1: it was not stored.
 */
export function record(flags: RecordFlags, context: Context): Promise<void> {
  const { io } = context;
  const { sentiment, what, trigger, chat, score } = flags;
  return withMoments(flags, context, async ({ recorder, packages }, { chats }) => {
    const answer = flags.message ?? (await lastAnswer(chats, chat))?.id;
    if (answer === undefined) throw invalid("this chat has no answer yet");
    const receipt = recorder.record({
      sentiment,
      what,
      chatId: chat,
      targetMessageId: answer,
      supersedes: await packages.reactionTo(chat, answer),
      source: "cli",
      trigger,
      score,
      correction: correctionOf(flags),
      transcript: await transcriptUpTo(chats, chat, answer),
    });
    await receipt.whenDecided();
    if (flags.json) await write(io.output, json(receipt));
    if (!receipt.durable) {
      await tell(io, `Not recorded: ${receipt.reason ?? "it could not be stored"}.`);
      throw new Exit(exitCodes.failed);
    }
    if (!flags.json) await write(io.output, `${receipt.name}\n`);
  });
}

function correctionOf({ correction, note }: RecordFlags): MomentInput["correction"] {
  if (correction !== undefined && note !== undefined) {
    throw invalid("pass either --correction or --note, not both");
  }
  if (correction !== undefined) return { text: correction, kind: "replacement" };
  return note === undefined ? undefined : { text: note, kind: "note" };
}

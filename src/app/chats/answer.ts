import type { Context } from "../../cli/command.ts";
import { Exit, exitCodes } from "../../cli/failure.ts";
import { counted, json } from "../../cli/format.ts";
import { assertHomeExists } from "../../cli/home.ts";
import { tell, write } from "../../cli/io.ts";
import { openLog } from "../../cli/log.ts";
import { withMemories } from "../../cli/memories.ts";
import { type Flags, resolveSettings } from "../../cli/settings.ts";
import { textOutput } from "../../core/turns/text-ports.ts";
import { answerJson } from "../../server/wire.ts";
import { openCompanion } from "../open-companion.ts";
import { deliver } from "../turn-events.ts";
import { pagesOf } from "./pages.ts";

const allAnswered = "There are no unanswered messages.\n";

/** How long an answer may take once the command is told to end. */
const graceMs = 1_000;

/**
 * Answers the oldest unanswered message, streaming the answer to stdout. Without one it prints so: `null`
 * as JSON.
 *
 * @throws Exit with 1: the answer failed or was cut off. With 130: interrupted.
 */
export async function answer(
  chatId: string,
  flags: Flags & { readonly json?: boolean },
  { io, env }: Context,
): Promise<void> {
  const settings = resolveSettings(flags, env);
  if (settings.store === undefined) assertHomeExists(settings.home);
  const logger = openLog(settings.logLevel, "error");
  const companion = await openCompanion(settings, logger);
  const ending = new AbortController();
  const ignoreSignals = io.onSignal(() => {
    if (ending.signal.aborted) io.exitNow(exitCodes.interrupted);
    ending.abort();
  });
  try {
    if (!(await companion.throughline.chats.row(chatId)).unanswered) {
      return await write(io.output, flags.json ? json(null) : allAnswered);
    }
    // A model that is named here is for this answer.
    const asked = flags.model === undefined ? {} : companion.responders.standard;
    const turn = await companion.turns.answer(chatId, asked);
    const told = pagesOf(companion.throughline).publishTurn(turn);
    const late: string[] = [];
    const sink = textOutput((text) => (flags.json ? undefined : write(io.output, text)));
    const { outcome } = await deliver(turn, sink, ending.signal, {
      early: (text) => tell(io, `(${text})`),
      late: (text) => void late.push(text),
    });
    await told;
    for (const text of late) await tell(io, `(${text})`);
    if (flags.json) await write(io.output, json(answerJson(await turn.done)));
    if (ending.signal.aborted) throw new Exit(exitCodes.interrupted);
    if (outcome !== "answered") throw new Exit(exitCodes.failed);
  } finally {
    ignoreSignals();
    await companion.close(graceMs);
  }
}

/** `sessions dismiss`. */
export function dismiss(chatId: string, flags: Flags, context: Context): Promise<void> {
  const { io } = context;
  return withMemories(flags, context, async (throughline) => {
    const turns = await throughline.turns();
    const count = await turns.dismiss(chatId);
    const what = counted(count, "message stays", "messages stay");
    await write(io.output, count === 0 ? allAnswered : `${what} unanswered.\n`);
  });
}

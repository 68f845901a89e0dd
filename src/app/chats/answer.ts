import type { Context } from "../../cli/command.ts";
import { Exit, exitCodes } from "../../cli/failure.ts";
import { json } from "../../cli/format.ts";
import { assertHomeExists } from "../../cli/home.ts";
import { tell, untilStopped, write } from "../../cli/io.ts";
import { chatPath } from "../../cli/routes.ts";
import { type Flags, resolveSettings } from "../../cli/settings.ts";
import { type TurnResult, textOutput } from "../../core/turns/coordinator.ts";
import { modelBody, withModelRoutes } from "../routes.ts";
import { type AnswerJson, type Notices, turnEvents } from "../turn-events.ts";
import { noneUnanswered } from "./change.ts";
import type { ServedChat } from "./served-chat.ts";

/**
 * Answers the oldest unanswered message, streaming the answer to stdout. Without one it prints so: `null`
 * as JSON.
 *
 * @throws Exit with 1: the answer failed or was cut off. With 130: interrupted.
 */
export async function answer(chatId: string, flags: Flags, context: Context): Promise<void> {
  const { io } = context;
  const settings = resolveSettings(flags, context.env);
  if (settings.store === undefined) assertHomeExists(settings.home);
  const work = (ending: AbortSignal) =>
    withModelRoutes(settings, context, async (routes, _, isServed) => {
      const path = chatPath(chatId);
      const body = modelBody(flags, isServed); // a model that is named here is for this answer
      if (!(await routes.json<ServedChat>(path)).row.unanswered) {
        return await write(io.output, flags.json ? json(null) : `${noneUnanswered}\n`);
      }
      const late: string[] = [];
      let whole: AnswerJson | undefined;
      const notices: Notices = {
        early: (text) => tell(io, `(${text})`),
        late: (text) => void late.push(text),
        result: (found) => {
          whole = found;
        },
      };
      const output = textOutput((text) => (flags.json ? undefined : write(io.output, text)));
      let result: TurnResult = { outcome: "failed", response: "" };
      const turn = { routes, path, events: routes.events(`${path}/answer`, body) };
      for await (const event of turnEvents(turn, ending, notices)) {
        if (event.type === "text") await output.write(event.text);
        else result = event;
      }
      await output.end(result);
      for (const text of late) await tell(io, `(${text})`);
      const { outcome, reason } = result;
      if (flags.json) await write(io.output, json(whole ?? { outcome, reason }));
      ending.throwIfAborted();
      if (outcome !== "answered") throw new Exit(exitCodes.failed);
    });
  await untilStopped(io, work);
}

import type { Context } from "../cli/command.ts";
import { Exit, exitCodes } from "../cli/failure.ts";
import { tell } from "../cli/io.ts";
import { openLog } from "../cli/log.ts";
import { chatPath } from "../cli/routes.ts";
import { type Flags, resolveSettings } from "../cli/settings.ts";
import type { Target } from "../core/chat/provider-sessions.ts";
import { shownModel } from "../core/models/model-name.ts";
import { targetOf } from "./model-choice.ts";
import { modelBody, withModelRoutes } from "./routes.ts";
import { Talk } from "./talk.ts";

interface ChatFlags extends Flags {
  readonly chat: string;
}

/** `throughline chat`. @throws Exit with 1 when a piped message was not answered, 130 by a signal. */
export async function chat(flags: ChatFlags, context: Context): Promise<void> {
  const { io, env, version } = context;
  const settings = resolveSettings(flags, env);
  const { companionName, isEphemeral, logLevel } = settings;
  const path = chatPath(flags.chat);
  const exitCode = await withModelRoutes(settings, context, async (routes, _, isServed) => {
    // Named for this chat, not only for new ones.
    const target: Target = modelBody(flags, isServed);
    if (io.isInteractive) {
      const name = shownModel(await targetOf(routes, path, target));
      await tell(io, `Throughline ${version} · ${flags.chat} · ${name} · /help lists the commands`);
    }
    const logger = openLog(logLevel, "error");
    const options = { path, target, companionName, isEphemeral, logger };
    return new Talk(routes, io, options).run();
  });
  if (exitCode !== exitCodes.done) throw new Exit(exitCode);
}

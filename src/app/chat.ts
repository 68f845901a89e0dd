import type { Context } from "../cli/command.ts";
import { Exit, exitCodes } from "../cli/failure.ts";
import { tell } from "../cli/io.ts";
import { openLog } from "../cli/log.ts";
import { type Flags, resolveSettings } from "../cli/settings.ts";
import type { Target } from "../core/chat/provider-sessions.ts";
import { shownModel } from "../core/models/model-name.ts";
import { openCompanion } from "./open-companion.ts";
import { Talk } from "./talk.ts";

interface ChatFlags extends Flags {
  readonly chat: string;
}

/** How long an answer may take once the chat is told to end. */
const graceMs = 1_000;

/** `throughline chat`. @throws Exit with 1 when a piped message was not answered, 130 by a signal. */
export async function chat(flags: ChatFlags, { io, env, version }: Context): Promise<void> {
  const settings = resolveSettings(flags, env);
  const logger = openLog(settings.logLevel, "error");
  const companion = await openCompanion(settings, logger);
  let exitCode: number = exitCodes.done;
  try {
    const { companionName, isEphemeral } = settings;
    const chatId = flags.chat;
    // Named for this chat, not only for new ones.
    const target: Target = flags.model === undefined ? {} : companion.responders.standard;
    if (io.isInteractive) {
      const name = shownModel(await companion.turns.target(chatId, target));
      await tell(io, `Throughline ${version} · ${chatId} · ${name} · /help lists the commands`);
    }
    if (companion.throughline.storage.cluster.isShared) {
      const { pagesOf } = await import("./chats/pages.ts");
      const pages = pagesOf(companion.throughline);
      companion.turns.onTurn((turn) => void pages.publishTurn(turn));
    }
    const isDumbTerminal = env.terminal === "dumb";
    const options = { chatId, target, companionName, isEphemeral, isDumbTerminal, logger };
    const talk = new Talk(companion, io, options);
    exitCode = await talk.run();
  } finally {
    await companion.close(graceMs);
  }
  if (exitCode !== exitCodes.done) throw new Exit(exitCode);
}

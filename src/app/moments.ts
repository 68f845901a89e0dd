// Moments in the program. Deleting this file, its lines in features.ts, and src/moments/ leaves a program
// without them.
import type { Chats } from "../core/chat/chats.ts";
import { systemClock } from "../core/clock.ts";
import { errorName } from "../core/errors.ts";
import type { Logger } from "../core/logger.ts";
import type { Throughline } from "../core/throughline.ts";
import { systemTimers } from "../core/timers.ts";
import { momentsCommands } from "../moments/commands.ts";
import type { Moments } from "../moments/moments.ts";
import type { MomentRecorder } from "../moments/record/moment-recorder.ts";
import type { Facts, Feature, Started, StartGiven } from "./feature.ts";

export const moments: Feature = {
  commands: momentsCommands,
  check: async (settings, isOpen) => {
    const { momentChecks } = await import("../moments/checks/moments.ts");
    return momentChecks(settings, isOpen);
  },
  notified: async () => (await import("../moments/start-moments.ts")).packagesElsewhere,
  extend,
  start,
};

async function extend(throughline: Throughline): Promise<void> {
  const { extendWithMoments } = await import("../moments/start-moments.ts");
  await extendWithMoments(throughline);
}

async function start(
  throughline: Throughline,
  { settings, persona, logger, facts }: StartGiven,
): Promise<Started> {
  const { isEphemeral } = settings;
  // Beside a database another process may keep the moments of this home.
  if (isEphemeral || throughline.storage.ownHome === undefined) {
    await extend(throughline);
    return {};
  }
  const { startConfiguredMoments } = await import("../moments/commands/feedback.ts");
  const { offerSkills, rememberSkills } = await import("../moments/turns/skills.ts");
  const started = await startConfiguredMoments(throughline, settings, {
    sessionId: facts.runId,
    persona,
    withSkills: true,
    hurtful: facts.hurtful,
  });
  const { recorder } = started;
  const skills = rememberSkills((input) => recorder.record(input), systemTimers);
  await recall(recorder, throughline.chats, logger);
  follow(recorder, facts);
  return {
    facts: {
      recordPat: (chatId) => recordPat(started, chatId),
      remember: async (name, said) => {
        // Called in no turn that is known: all that was said is from before the reaction.
        const turnId = throughline.ports.newId();
        return skills.find((skill) => skill.name === name)?.handle(said, { turnId }) ?? "";
      },
    },
    tools: offerSkills(recorder, systemTimers),
    routes: async () => (await import("../moments/routes.ts")).momentsRoutes(started),
    finish: () => recorder.close(),
  };
}

/** Feeds the buffers with what was said shortly before this start. */
export async function recall(
  recorder: MomentRecorder,
  chats: Chats,
  logger: Logger,
): Promise<void> {
  const { recallWords } = await import("../moments/turns/recall.ts");
  try {
    await recallWords(chats, recorder, systemClock);
  } catch (error) {
    // A start does not fail with what only a reaction in its first two minutes would want.
    logger.warn({ error: errorName(error) }, "what was said before is not in the buffers");
  }
}

/** Keeps with each moment how the companion feels, and whom it saw. */
export function follow(recorder: MomentRecorder, { mood, onPerson }: Facts): void {
  if (mood !== undefined) recorder.captureLive("mood", mood);
  onPerson?.((name) => recorder.saw(name));
}

export function recordPat(kept: Moments, chatId: string | undefined): string | undefined {
  const receipt = kept.happened({ kind: "pat" }, chatId);
  return receipt?.accepted ? receipt.name : undefined;
}

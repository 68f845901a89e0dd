import { systemClock } from "../clock.ts";
import { randomId } from "../ids.ts";
import type { Logger } from "../logger.ts";
import type { Moments } from "../moments.ts";
import { feedTurns } from "../runtime/moment-feed.ts";
import type { Responders } from "../runtime/turns.ts";
import { Turns } from "../runtime/turns.ts";
import { openThroughline, type Throughline } from "../throughline.ts";
import { beginRun, type Run } from "./run.ts";
import type { Settings } from "./settings.ts";

/** The memories of a companion and the models that speak for it. */
export interface Companion {
  readonly throughline: Throughline;
  readonly turns: Turns;
  readonly responders: Responders;
  /** Who it is, over all its runs; absent for commands that only look after the memories. */
  readonly run?: Run;
  /** What people react to; absent where nothing is kept. */
  readonly moments?: Moments;
  /**
   * Takes no more turns, gives those under way `graceMs` to end, cuts the rest short and keeps what
   * came, then lets go of the home.
   */
  close(graceMs: number): Promise<void>;
}

/** How many messages may wait in one chat. */
const maxQueued = 32;

/**
 * Opens a companion as the settings have it.
 *
 * @throws ThroughlineError as `openThroughline` and `ResponderRegistry.open` do.
 */
export async function openCompanion(settings: Settings, logger: Logger): Promise<Companion> {
  // The models' packages take longer to load than all the rest.
  const { ResponderRegistry } = await import("../runtime/responders/registry.ts");
  const { model, models, prices } = settings;
  const responders = await ResponderRegistry.open({
    settings: models,
    ...(model === undefined ? {} : { standard: model }),
    ...(prices === undefined ? {} : { prices }),
  });
  const throughline = await openMemories(settings, logger, responders.standard);
  try {
    const run = await beginRun(throughline, settings, logger);
    const { persona, isEphemeral, feedback } = settings;
    const companion = withTurns(throughline, { responders, persona, logger, run });
    if (isEphemeral) return companion;
    const { startMoments } = await import("./moments.ts");
    const moments = await startMoments(throughline, feedback, run.companion.runId);
    feedTurns(companion.turns, moments.recorder, persona);
    // However the process ends: what waits is kept before it does.
    const spill = () => {
      try {
        moments.spillSync();
      } catch {
        // The disk refuses and the process ends: there is nobody left to tell.
      }
    };
    process.once("exit", spill);
    const close = async (graceMs: number) => {
      await companion.close(graceMs);
      process.removeListener("exit", spill);
    };
    return { ...companion, moments, close };
  } catch (error) {
    await throughline.close();
    throw error;
  }
}

/** The memories alone: for commands that ask no model. */
export function openMemories(
  settings: Settings,
  logger: Logger,
  standard: Partial<Responders["standard"]> = {},
): Promise<Throughline> {
  const { home, isEphemeral, freshness } = settings;
  const place = isEphemeral ? ({ storage: "memory" } as const) : { home };
  return openThroughline({ ...place, ...standard, freshness, logger });
}

/** What turns need beside the memories. */
export function withTurns(
  throughline: Throughline,
  parts: {
    readonly responders: Responders;
    readonly persona: string;
    readonly logger: Logger;
    readonly run?: Run;
  },
): Companion {
  const { chats, sessions, workingMemory, rules } = throughline;
  const { responders, persona, logger, run } = parts;
  const turns = new Turns({
    ...{ chats, sessions, memories: workingMemory, rules, maxQueued },
    ...{ responders, persona, logger, companion: run?.companion },
    ...{ clock: systemClock, newId: randomId },
  });
  const close = async (graceMs: number) => {
    try {
      await turns.close(graceMs);
    } finally {
      run?.stop();
      await throughline.close();
    }
  };
  return { throughline, turns, responders, close, ...(run === undefined ? {} : { run }) };
}

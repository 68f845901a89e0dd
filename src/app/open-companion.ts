import type { Context, OpenOptions } from "../cli/command.ts";
import { type MemoriesWork, withMemories } from "../cli/memories.ts";
import type { Flags, Settings } from "../cli/settings.ts";
import { filesIn } from "../cli/store-location.ts";
import { beginRun, type Run } from "../companion/commands/home-run.ts";
import type { Logger } from "../core/logger.ts";
import type { FoundOllama } from "../core/models/models.ts";
import { ResponderRegistry } from "../core/models/registry.ts";
import type { Storage } from "../core/storage/storage.ts";
import { openThroughline, type Throughline } from "../core/throughline.ts";
import { systemTimers } from "../core/timers.ts";
import type { Responders, TurnPorts, Turns } from "../core/turns/turns.ts";
import type { Moments } from "../moments/moments.ts";
import { offerSkills } from "../moments/turns/skills.ts";

/** The memories of a companion and the models that speak for it. */
export interface Companion {
  readonly throughline: Throughline;
  readonly turns: Turns;
  readonly responders: Responders;
  /** A local model server that is not asked, because it is not known to be one's own. */
  readonly passedOver?: FoundOllama | undefined;
  /** Who it is, over all its runs; absent for commands that only look after the memories. */
  readonly run?: Run | undefined;
  /** What people react to; absent where nothing is kept. */
  readonly moments?: Moments | undefined;
  /**
   * Takes no more turns, gives those under way `graceMs` to end, cuts the rest short and keeps what
   * came, then lets go of the home.
   */
  close(graceMs: number): Promise<void>;
}

/**
 * Opens a companion as the settings have it.
 *
 * @param whenTaken runs once no other process can take the home, before this one looks through it.
 * @throws ThroughlineError as `openThroughline` and `ResponderRegistry.open` do.
 */
export async function openCompanion(
  settings: Settings,
  logger: Logger,
  whenTaken?: () => Promise<void>,
): Promise<Companion> {
  const { model, models, prices, allowed, isEphemeral } = settings;
  const responders = await ResponderRegistry.open({
    settings: models,
    allowed,
    isKept: !isEphemeral,
    standard: model,
    prices,
  });
  const { standard } = responders;
  const throughline = await openMemories(settings, {
    logger,
    standard,
    makesHome: true,
    whenTaken,
  });
  try {
    const run = await beginRun(throughline, settings, logger);
    const { persona, feedback, companionName } = settings;
    const { passedOver } = responders;
    const parts = { responders, passedOver, persona, companionName, run };
    // Beside a database another process may keep the moments of this home.
    const keepsMoments = throughline.storage.ownHome !== undefined;
    if (isEphemeral || !keepsMoments) {
      const { extendWithMoments } = await import("../moments/start-moments.ts");
      await extendWithMoments(throughline);
      return await withTurns(throughline, parts);
    }
    const { startConfiguredMoments } = await import("../moments/commands/start-moments.ts");
    const { feedMoments, hurtfulTo } = await import("./feed-moments.ts");
    const moments = await startConfiguredMoments(throughline, feedback, {
      sessionId: run.companion.runId,
      persona,
      withSkills: true,
      hurtful: hurtfulTo(run.companion),
    });
    await feedMoments(moments.recorder, {
      chats: throughline.chats,
      companion: run.companion,
      logger,
    });
    const tools = offerSkills(moments.recorder, systemTimers);
    const companion = await withTurns(throughline, { ...parts, tools });
    return { ...companion, moments };
  } catch (error) {
    await throughline.close();
    throw error;
  }
}

export interface OpenMemoriesOptions extends OpenOptions {
  /** What new sessions run on; absent where no model is asked. */
  readonly standard?: Responders["standard"] | undefined;
  /** Runs once no other process can take the home, before this one looks through it. */
  readonly whenTaken?: (() => Promise<void>) | undefined;
}

/** Opens the memories alone. */
export async function openMemories(
  settings: Settings,
  { logger, standard, makesHome = false, whenTaken }: OpenMemoriesOptions,
): Promise<Throughline> {
  const { isEphemeral, freshness, config } = settings;
  const { workingMemoryCapacity } = config;
  const storage = isEphemeral ? "memory" : await openKept(settings, logger, makesHome);
  try {
    await whenTaken?.();
  } catch (error) {
    if (storage !== "memory") await storage.close();
    throw error;
  }
  return openThroughline({ storage, ...standard, freshness, workingMemoryCapacity, logger });
}

async function openKept(
  { home, store }: Settings,
  logger: Logger,
  make: boolean,
): Promise<Storage> {
  const { openWholeStore } = await import("../postgres/commands/open-store.ts");
  const location = store ?? filesIn(home);
  return openWholeStore(location, { logger, home: { path: home, make } });
}

/** What turns need beside the memories. */
export async function withTurns(
  throughline: Throughline,
  parts: {
    readonly responders: Responders;
    readonly passedOver?: FoundOllama | undefined;
    readonly persona: string;
    readonly companionName?: string | undefined;
    readonly run?: Run;
    /** What models may do beside speaking. */
    readonly tools?: TurnPorts["tools"];
  },
): Promise<Companion> {
  const { responders, passedOver, persona, companionName, run, tools } = parts;
  const turns = await throughline.turns({ model: responders, persona, companionName, tools });
  const close = async (graceMs: number) => {
    try {
      await turns.close(graceMs);
    } finally {
      run?.stop();
      await throughline.close();
    }
  };
  return { throughline, turns, responders, passedOver, close, run };
}

/**
 * Works with the memories of a home that exists, for what removes something: what each feature keeps is
 * removed too. No run of the companion begins.
 */
export function withAllFeatures<T>(
  flags: Flags,
  context: Context,
  work: MemoriesWork<T>,
): Promise<T> {
  return withMemories(flags, context, async (throughline, settings) => {
    const { extendWithCompanion } = await import("../companion/start-companion.ts");
    await extendWithCompanion(throughline);
    const { extendWithMoments } = await import("../moments/start-moments.ts");
    await extendWithMoments(throughline);
    return work(throughline, settings);
  });
}

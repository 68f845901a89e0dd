import type { OpenOptions } from "../cli/command.ts";
import { wrongUsage } from "../cli/failure.ts";
import type { Settings } from "../cli/settings.ts";
import type { Logger } from "../core/logger.ts";
import { ResponderRegistry } from "../core/models/registry.ts";
import type { Responders } from "../core/models/responder.ts";
import type { OwnHome, Storage } from "../core/storage/storage.ts";
import { openThroughline, type Throughline } from "../core/throughline.ts";
import type { Turns } from "../core/turns/turns.ts";
import type { OpenedForTools } from "./feature.ts";
import { features, type StartedFeatures, startFeatures } from "./features.ts";
import { HomePersona } from "./home-persona.ts";

/** The memories of a companion and the models that speak for it. */
export interface Companion {
  readonly throughline: Throughline;
  readonly turns: Turns;
  readonly responders: Responders;
  /** What it does beside talking. */
  readonly started?: StartedFeatures | undefined;
  /**
   * Takes no more turns, gives those under way `graceMs` to end, cuts the rest short and keeps what
   * came, then lets go of the home.
   */
  close(graceMs: number): Promise<void>;
}

/** A companion with the persona of its home. */
export interface OpenedCompanion extends Companion {
  readonly persona: HomePersona;
}

/**
 * Opens a companion as the settings have it.
 *
 * @throws ThroughlineError as `openThroughline` and `ResponderRegistry.open` do.
 */
export async function openCompanion(
  settings: Settings,
  logger: Logger,
  whenTaken?: WhenTaken,
): Promise<OpenedCompanion> {
  const { model, window, models, prices, allowed, isEphemeral } = settings;
  const responders = await ResponderRegistry.open({
    settings: models,
    allowed,
    isKept: !isEphemeral,
    standard: model,
    window,
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
    const home = new HomePersona(settings, logger);
    const persona = () => home.text();
    const given = { settings, persona, logger, beginsRun: true };
    const started = await startFeatures(throughline, given);
    const { companionName } = settings;
    const parts = { responders, persona, companionName, started };
    return { ...(await withTurns(throughline, parts)), persona: home };
  } catch (error) {
    await throughline.close();
    throw error;
  }
}

/**
 * Runs once no other process can take the home, before this one looks through it.
 *
 * @param ownHome the home, if this process has one of its own.
 */
type WhenTaken = (ownHome: OwnHome | undefined) => Promise<void>;

interface OpenMemoriesOptions extends OpenOptions {
  /** What new periods run on; absent where no model is asked. */
  readonly standard?: Responders["standard"] | undefined;
  readonly whenTaken?: WhenTaken | undefined;
}

/** Opens the memories alone. */
export async function openMemories(
  settings: Settings,
  { logger, standard, makesHome = false, whenTaken }: OpenMemoriesOptions,
): Promise<Throughline> {
  const { isEphemeral, freshness, workingMemoryCapacity, keepPhotoMetadata } = settings;
  const storage = isEphemeral ? "memory" : await openKept(settings, { logger, makesHome });
  try {
    await whenTaken?.(storage === "memory" ? undefined : storage.ownHome);
  } catch (error) {
    if (storage !== "memory") await storage.close();
    throw error;
  }
  const telemetry = await features.find((each) => each.telemetry)?.telemetry?.(logger);
  const own = { freshness, workingMemoryCapacity, keepPhotoMetadata, logger, telemetry };
  return openThroughline({ storage, ...standard, ...own });
}

function openKept(settings: Settings, options: OpenOptions): Promise<Storage> {
  const { openStorage = openFiles } = features.find((each) => each.openStorage) ?? {};
  return openStorage(settings, options);
}

async function openFiles({ home, store }: Settings, { logger }: OpenOptions): Promise<Storage> {
  if (store !== undefined) throw wrongUsage(`this program cannot use ${store.says}`);
  const { openFileStorage } = await import("../core/storage/files/open-file-storage.ts");
  return openFileStorage({ home, logger });
}

/** What turns need beside the memories. */
export async function withTurns(
  throughline: Throughline,
  parts: {
    readonly responders: Responders;
    readonly persona: string | (() => string);
    readonly companionName?: string | undefined;
    readonly started?: StartedFeatures | undefined;
  },
): Promise<Companion> {
  const { responders, persona, companionName, started } = parts;
  const { tools } = started ?? {};
  const turns = await throughline.turns({ model: responders, persona, companionName, tools });
  const close = async (graceMs: number) => {
    try {
      await turns.close(graceMs);
    } finally {
      started?.stop();
      await throughline.close();
    }
  };
  return { throughline, turns, responders, started, close };
}

/**
 * See `ProgramContext`.
 *
 * @throws ThroughlineError as `openThroughline` does.
 */
export async function openForTools(settings: Settings, logger: Logger): Promise<OpenedForTools> {
  const throughline = await openMemories(settings, { logger, makesHome: true });
  try {
    const home = new HomePersona(settings, logger);
    const given = { settings, persona: () => home.text(), logger, beginsRun: false };
    const started = await startFeatures(throughline, given);
    const close = async () => {
      try {
        await started.finish();
      } finally {
        started.stop();
        await throughline.close();
      }
    };
    return { throughline, facts: started.facts, close };
  } catch (error) {
    await throughline.close();
    throw error;
  }
}

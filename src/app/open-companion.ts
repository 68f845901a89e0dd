import type { OpenOptions } from "../cli/command.ts";
import { wrongUsage } from "../cli/failure.ts";
import type { Settings } from "../cli/settings.ts";
import type { Logger } from "../core/logger.ts";
import { ResponderRegistry } from "../core/models/registry.ts";
import type { Responders } from "../core/models/responder.ts";
import type { OwnHome, Storage } from "../core/storage/storage.ts";
import { openThroughline, type Throughline } from "../core/throughline.ts";
import type { OpenedForTools } from "./feature.ts";
import { features, startFeatures } from "./features.ts";
import { HomePersona } from "./home-persona.ts";

/** A companion that can be talked with. */
export type Companion = Awaited<ReturnType<typeof openCompanion>>;

/**
 * Opens a companion as the settings have it.
 *
 * @throws ThroughlineError as `openThroughline` and `ResponderRegistry.open` do.
 */
export async function openCompanion(settings: Settings, logger: Logger, whenTaken?: WhenTaken) {
  const { model, window, models, prices, allowed, isEphemeral, companionName } = settings;
  const responders = await ResponderRegistry.open({
    settings: models,
    allowed,
    isKept: !isEphemeral,
    standard: model,
    window,
    prices,
  });
  const { standard } = responders;
  const options = { logger, standard, makesHome: true, whenTaken };
  const opened = await openStarted(settings, options, true);
  try {
    const turns = await opened.throughline.turns({
      model: responders,
      persona: () => opened.persona.text(),
      companionName,
      tools: opened.started.tools,
    });
    /**
     * Takes no more turns, gives those under way `graceMs` to end, cuts the rest short and keeps what
     * came, then lets go of the home.
     */
    const close = async (graceMs: number) => {
      try {
        await turns.close(graceMs);
      } finally {
        await opened.close();
      }
    };
    return { ...opened, turns, responders, close };
  } catch (error) {
    await opened.close();
    throw error;
  }
}

/**
 * See `ProgramContext`.
 *
 * @throws ThroughlineError as `openThroughline` does.
 */
export async function openForTools(settings: Settings, logger: Logger): Promise<OpenedForTools> {
  const opened = await openStarted(settings, { logger, makesHome: true }, false);
  return { ...opened, facts: opened.started.facts };
}

/** Opens the memories, and starts every feature. */
async function openStarted(settings: Settings, options: OpenMemoriesOptions, beginsRun: boolean) {
  const throughline = await openMemories(settings, options);
  try {
    const { logger } = options;
    const persona = new HomePersona(settings, logger);
    const given = { settings, persona: () => persona.text(), logger, beginsRun };
    const started = await startFeatures(throughline, given);
    const close = () => {
      started.stop();
      return throughline.close();
    };
    return { throughline, persona, started, close };
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

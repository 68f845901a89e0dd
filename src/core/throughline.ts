import { chatsCollection } from "./chat/chat-log.ts";
import { Chats } from "./chat/chats.ts";
import { removeWithOthers } from "./chat/cluster-memories.ts";
import { type FreshnessOptions, type FreshnessRules, resolveFreshness } from "./chat/freshness.ts";
import { assertMoveEnded } from "./chat/move-under-way.ts";
import { ProviderSessions } from "./chat/provider-sessions.ts";
import { WorkingMemories } from "./chat/working-memory.ts";
import { type Clock, systemClock } from "./clock.ts";
import type { Extension } from "./extension.ts";
import { Extensions } from "./extensions.ts";
import { type NewId, randomId } from "./ids.ts";
import { type Logger, standardError, withoutWords } from "./logger.ts";
import {
  aFunction,
  aName,
  byDefault,
  checkArgument,
  maybe,
  misconfigured,
  type Options,
  oneOf,
  type Resolved,
  resolveOptions,
} from "./options.ts";
import type { Runtime } from "./runtime.ts";
import { namedFrameworkLogs, removeFrameworkLogs } from "./storage/framework-logs.ts";
import { type Durability, durabilityCheck, type Storage } from "./storage/storage.ts";
import { silentTelemetry, type Telemetry } from "./telemetry.ts";
import { systemTimers, type Timers, until } from "./timers.ts";
import type { TurnQueue } from "./turns/turn-queue.ts";
import type { Turns } from "./turns/turns.ts";
import type { TurnsOptions } from "./turns/turns-options.ts";

export interface ThroughlineOptions {
  /** The companion's directory. Either this or `storage`. */
  readonly home?: string | undefined;
  /** `"memory"` keeps nothing beyond this process; or a storage of your own, closed with the rest. */
  readonly storage?: "memory" | Storage | undefined;
  /**
   * What a resolved write has survived, in a home.
   * @default "power-cut"
   */
  readonly durability?: Durability | undefined;
  /** When periods end by themselves. By default they never do. */
  readonly freshness?: FreshnessOptions | undefined;
  /**
   * What a new period runs on when a call names nothing.
   * @default "offline"
   */
  readonly provider?: string | undefined;
  /** @default "offline" */
  readonly model?: string | undefined;
  /**
   * Interactions that the working memory of each chat holds, 1 to 1,000.
   * @default 3
   */
  readonly workingMemoryCapacity?: number | undefined;
  /**
   * Whether pictures that come with a message, or from a camera, keep what the device wrote beside them: place,
   * device, time. By default only the orientation is kept.
   * @default false
   */
  readonly keepPhotoMetadata?: boolean | undefined;
  readonly clock?: Clock | undefined;
  /** Where several processes have the companion: by what one waits for the others. */
  readonly timers?: Timers | undefined;
  /**
   * Makes the ids of messages and records. It must never make one twice, in any process: they are not looked for
   * before they are stored. By default they have 93 random bits.
   */
  readonly newId?: NewId | undefined;
  /** @default what is logged at `error` is written on standard error */
  readonly logger?: Logger | undefined;
  /**
   * What the log has of an exception that your own code threw, such as a responder or a tool: its words
   * too (message and stack, each cut at 2,000 characters), or its name alone.
   * @default "words"
   */
  readonly logErrors?: "words" | "names" | undefined;
  /** What turns, models, tools, appends and uploads take: `openTelemetry` of `throughline/opentelemetry`. */
  readonly telemetry?: Telemetry | undefined;
}

const declared = {
  home: maybe(),
  storage: maybe(['"memory" or a storage', (value) => value === "memory" || isStorage(value)]),
  durability: byDefault("power-cut", durabilityCheck),
  freshness: byDefault({}),
  provider: byDefault("offline", aName),
  model: byDefault("offline", aName),
  workingMemoryCapacity: byDefault(3),
  keepPhotoMetadata: byDefault(false),
  clock: byDefault(systemClock),
  timers: byDefault(systemTimers),
  newId: byDefault(randomId),
  logger: byDefault(standardError),
  logErrors: byDefault("words", oneOf("words", "names")),
  telemetry: byDefault(silentTelemetry),
} satisfies Options<ThroughlineOptions>;

/** The memories of one companion, on one storage. */
export interface Throughline extends AsyncDisposable {
  /** Transcripts: what was said, word for word. */
  readonly chats: Chats;
  /** Where each provider left off. */
  readonly sessions: ProviderSessions;
  /** What was just said: this process only, never written anywhere. */
  readonly workingMemory: WorkingMemories;
  readonly storage: Storage;
  readonly rules: FreshnessRules;
  /** What an extension works with too. */
  readonly ports: Runtime;
  /**
   * Runs conversations: give it a model, and it answers; or call your own in `open`. However many there
   * are, they share one queue: no chat has two turns at once.
   */
  turns(options?: TurnsOptions): Promise<Turns>;
  /**
   * Opens a feature and adds it: `startCompanion` and `startMoments` do this. Closing disposes what was
   * added, the newest first.
   *
   * @param name what receipts call it.
   * @throws ThroughlineError `THROUGHLINE_CONFLICT`: there is one with this name. `THROUGHLINE_CLOSED`.
   *   Otherwise what `open` rejects with: then it can be tried again.
   */
  extend<E extends Extension>(name: string, open: () => Promise<E>): Promise<E>;
  /**
   * Finishes what was asked for, for 2 s at most, and lets go of the storage. Closing twice is closing
   * once.
   */
  close(): Promise<void>;
}

/**
 * Opens a companion's memories. What a dead process left half done is finished first.
 *
 * @throws ThroughlineError `THROUGHLINE_LOCKED`: another process writes this home.
 * @throws ThroughlineError `THROUGHLINE_CONFIGURATION`: a setting or the home cannot be used; neither
 *   `home` nor `storage`, or both.
 * @throws ThroughlineError `THROUGHLINE_CONFLICT`: a move into this storage has not ended: it holds a
 *   part of a companion, and what was added to that could not be copied over any more. Move again.
 */
export async function openThroughline(given: ThroughlineOptions): Promise<Throughline> {
  const resolved = resolveOptions("the options of openThroughline", given, declared);
  const { logErrors } = resolved;
  const ownLogger = logErrors === "names" ? withoutWords(resolved.logger) : resolved.logger;
  const options = { ...resolved, logger: ownLogger };
  const { provider, model, workingMemoryCapacity, keepPhotoMetadata } = options;
  const { clock, timers, newId, logger, telemetry } = options;
  const rules = resolveFreshness(options.freshness);
  const workingMemory = new WorkingMemories({ capacity: workingMemoryCapacity, clock });
  const storage = await openStorage(options);
  try {
    await assertMoveEnded(storage);
    const ports = { clock, timers, newId, logger, telemetry, keepPhotoMetadata };
    const chats = new Chats(storage, ports);
    let queue: TurnQueue | undefined;
    const isRunning = (chatId: string) => queue?.running.has(chatId) ?? false;
    const sessions = new ProviderSessions(chats, { rules, provider, model, isRunning });
    sessions.onEnd((chatId) => workingMemory.remove(chatId));
    const extensions = new Extensions(storage, chats.tombstones, logger);
    chats.others.push(
      {
        heard: (chatId, message) => workingMemory.heard(chatId, message),
        remove: (chatId) => [{ place: "working memory", count: workingMemory.remove(chatId) }],
      },
      {
        remove: (chatId, loss) => {
          if (loss === "forget") return removeFrameworkLogs(storage, chatId);
          return loss === "erase" ? namedFrameworkLogs(storage, chatId) : [];
        },
      },
      extensions,
    );
    let closing: Promise<void> | undefined;
    const endRemoving = removeWithOthers({ chats, sessions, workingMemory, extensions });
    await chats.recover(storage.ownHome?.recreated?.(chatsCollection));
    const finish = async () => {
      try {
        await extensions.close();
        await until(chats.settled(), { ms: settleMs });
      } finally {
        queue?.close();
        endRemoving();
        // What is still on its way is heard before the storage is closed.
        await storage.close().finally(() => workingMemory.clear());
      }
    };
    const close = () => {
      closing ??= finish();
      return closing;
    };
    const memories = { chats, sessions, workingMemory, storage, rules, ports };
    return {
      ...memories,
      turns: async (own = {}) => {
        // Loaded when it is needed: most processes that open the memories run no turn.
        const { Turns } = await import("./turns/turns.ts");
        const { turnsRuntime } = await import("./turns/turns-options.ts");
        const { TurnQueue } = await import("./turns/turn-queue.ts");
        queue ??= new TurnQueue(chats);
        const inside = { ...ports, chats, sessions, workingMemory, rules, extensions, queue };
        return new Turns(turnsRuntime(inside, own));
      },
      extend: async (name, open) => {
        checkArgument(open, "open", aFunction);
        return extensions.add(name, open);
      },
      close,
      [Symbol.asyncDispose]: close,
    };
  } catch (error) {
    await storage.close();
    throw error;
  }
}

/** How long closing waits for chat changes: calling `close` inside one would deadlock otherwise. */
const settleMs = 2_000;

async function openStorage(
  options: Resolved<ThroughlineOptions, typeof declared>,
): Promise<Storage> {
  const { home, storage, durability, clock, newId, logger } = options;
  if ((home === undefined) === (storage === undefined)) {
    throw misconfigured("openThroughline takes either a home or a storage");
  }
  if (home !== undefined) {
    const { openFileStorage } = await import("./storage/files/open-file-storage.ts");
    return openFileStorage({ home, durability, clock, newId, logger });
  }
  if (storage === "memory") {
    const { openMemoryStorage } = await import("./storage/memory/memory-storage.ts");
    return openMemoryStorage();
  }
  return storage as Storage;
}

function isStorage(value: unknown): value is Storage {
  if (typeof value !== "object" || value === null) return false;
  const { logs, documents, files, leases, cluster, close } = value as Partial<Storage>;
  const methods = [logs, documents, files, leases?.tryAcquire, cluster?.publish, close];
  return methods.every((method) => typeof method === "function");
}

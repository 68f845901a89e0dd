import { resolve } from "node:path";
import { type Clock, systemClock } from "../../clock.ts";
import { type NewId, randomId } from "../../ids.ts";
import { type Logger, silentLogger } from "../../logger.ts";
import { byDefault, misconfigured, must, type Options, resolveOptions } from "../../options.ts";
import { systemTimers } from "../../timers.ts";
import { directoryChanged, realDisk } from "../disk/disk.ts";
import { type Durability, durabilityCheck } from "../storage.ts";
import { makeDirectory } from "./file-ports.ts";
import { FileStorage } from "./file-storage.ts";
import { FileIndex } from "./index.ts";
import { checkPermissionModel, oncePerPass, takeLease } from "./lease.ts";

interface FileStorageOptions {
  /** The directory of the companion; created when absent, with mode 0700. */
  readonly home: string;
  /**
   * What a resolved write has survived.
   * @default "power-cut"
   */
  readonly durability?: Durability | undefined;
  /**
   * Use a home on a network file system, although no other machine is kept out there.
   * @default false
   */
  readonly force?: boolean | undefined;
  readonly clock?: Clock | undefined;
  readonly newId?: NewId | undefined;
  readonly logger?: Logger | undefined;
}

const declared = {
  durability: byDefault("power-cut", durabilityCheck),
  force: byDefault(false),
  clock: byDefault(systemClock),
  newId: byDefault(randomId),
  logger: byDefault(silentLogger),
  // An empty path would be the folder that the process happens to be in.
  home: must(["the path of a directory", (value) => typeof value === "string" && value !== ""]),
} satisfies Options<FileStorageOptions>;

/**
 * Opens a home and becomes its one writer.
 *
 * @throws ThroughlineError `THROUGHLINE_LOCKED`: another process is; the message names its pid.
 * @throws ThroughlineError `THROUGHLINE_CONFIGURATION`: the home is a file, not ours, read-only; or
 *   `home` or `durability` has a value that cannot be used.
 * @throws ThroughlineError `THROUGHLINE_UNAVAILABLE`: the disk is full or failing.
 */
export async function openFileStorage(options: FileStorageOptions): Promise<FileStorage> {
  const resolved = resolveOptions("the options of a home", options, declared);
  const { durability, force, clock, newId, logger } = resolved;
  const home = resolve(resolved.home);
  checkPermissionModel(); // making the home needs a sync
  await makeHome(home);
  const lease = takeLease(home, { force, clock, logger });
  let index: FileIndex | undefined;
  const release = async () => {
    try {
      await index?.close();
    } finally {
      lease.release();
    }
  };
  try {
    index = new FileIndex(`${home}/index.db`, { logger });
    return await FileStorage.open({
      home,
      clock,
      newId,
      logger,
      durability,
      release,
      timers: systemTimers,
      disk: realDisk,
      index,
      directoryChanged,
      maxOpen: 256,
      segmentBytes: 16 * 1024 * 1024,
      guard: oncePerPass(lease.check),
    });
  } catch (error) {
    await release();
    throw error;
  }
}

async function makeHome(home: string): Promise<void> {
  try {
    await makeDirectory(realDisk, home);
  } catch (cause) {
    const code = String((cause as { readonly code?: unknown }).code);
    throw misconfigured(
      `the home ${home} cannot be made (${code}): it must be a directory that this user can write; ` +
        "name another one with --home",
      cause,
    );
  }
}

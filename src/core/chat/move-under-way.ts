import { conflict } from "../errors.ts";
import type { LogStore } from "../storage/log-store.ts";
import { unlisted } from "../storage/log-store.ts";
import type { Storage } from "../storage/storage.ts";

/** The key of the log of moves: what was copied into a storage from another one. */
export const movesKey = "moves";

/** Where that log lies. */
export const movesOf = (storage: Storage): LogStore => storage.logs("", unlisted);

/**
 * When the move into a storage began that has not ended; `undefined`: there is none. Until it ends,
 * the storage holds only a part of a companion.
 */
export async function moveUnderWay(storage: Storage): Promise<string | undefined> {
  const tail = await movesOf(storage).tail(movesKey, 0);
  return tail?.head["state"] === "begun" ? String(tail.head["at"]) : undefined;
}

/** @throws ThroughlineError `THROUGHLINE_CONFLICT`: a move into the storage has not ended. */
export async function assertMoveEnded(storage: Storage): Promise<void> {
  const begunAt = await moveUnderWay(storage);
  if (begunAt === undefined) return;
  const says = `the copy to this storage that started at ${begunAt} is not finished: it holds only part of a companion`;
  throw conflict(`${says}. Run the same copy again to finish it`);
}

import { movesKey } from "../../core/chat/move-under-way.ts";
import type { LogRow, LogStore } from "../../core/storage/log-store.ts";
import type { Storage } from "../../core/storage/storage.ts";
import { type LogPlace, runsPlace } from "./places.ts";

const pageSize = 500;

/** One log of a companion, in the storage where it was found. */
export interface FoundLog {
  readonly place: LogPlace;
  readonly logs: LogStore;
  readonly row: LogRow;
}

/** Every log of these places, a page at a time. Nothing may write to them during the walk. */
export async function* everyLog(
  storage: Storage,
  places: readonly LogPlace[],
): AsyncGenerator<FoundLog> {
  for (const place of places) {
    const logs = storage.logs(place.collection, place.projection);
    let cursor: string | undefined;
    do {
      const page = await logs.list({
        limit: pageSize,
        cursor,
      });
      for (const row of page.rows) {
        const isOwn = place.collection === runsPlace.collection && row.key === movesKey;
        if (!isOwn) yield { place, logs, row };
      }
      cursor = page.cursor;
    } while (cursor !== undefined);
  }
}

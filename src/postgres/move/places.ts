// Where a companion's memories lie in a storage: a new collection needs a line here.

import { chatProjection } from "../../core/chat/chat-head.ts";
import { movesKey } from "../../core/chat/move-under-way.ts";
import { printableLine } from "../../core/chat/printable.ts";
import { frameworkLogs } from "../../core/storage/framework-logs.ts";
import {
  type LogProjection,
  type LogRow,
  type LogStore,
  rows,
  unlisted,
} from "../../core/storage/log-store.ts";
import type { Storage } from "../../core/storage/storage.ts";

export interface LogPlace {
  readonly collection: string;
  readonly projection: LogProjection;
}

/** Collections of logs, copied in this order: first the marks of forgotten chats, and the runs after the chats. */
export const logPlaces: readonly LogPlace[] = [
  { collection: "forgotten", projection: unlisted },
  { collection: "chats", projection: chatProjection },
  { collection: "", projection: unlisted },
  ...frameworkLogs,
];

/** Collections of documents, copied after all logs. */
export const documentPlaces: readonly string[] = ["session"];

/** Collections of files, copied before the logs: no message comes without its files. */
export const filePlaces: readonly string[] = ["chats"];

/** What of a home is no part of its storage, and stays where it is. */
export const staysInHome = [
  "throughline.config.json",
  "persona.md",
  "facts.md",
  "emotions.yaml",
  "consent.json",
  "feedback/",
  "quarantine/",
] as const;

/** One log of a companion, in the storage where it was found. */
export interface FoundLog {
  readonly place: LogPlace;
  readonly logs: LogStore;
  readonly row: LogRow;
}

/** Lists every log of a companion, a page at a time, but for the log of moves, which each storage has of its own. */
export async function* everyLog(storage: Storage): AsyncGenerator<FoundLog> {
  for (const place of logPlaces) {
    const logs = storage.logs(place.collection, place.projection);
    for await (const row of rows(logs)) {
      if (place.collection !== "" || row.key !== movesKey) yield { place, logs, row };
    }
  }
}

/** Names a log as a message or a report does: `chats/telegram:42`. */
export function placeName(collection: string, key: string): string {
  return printableLine(collection === "" ? key : `${collection}/${key}`);
}

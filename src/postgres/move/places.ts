// Where a companion's memories lie in a storage: a new collection needs a line here.

import { chatProjection } from "../../core/chat/chat-head.ts";
import { frameworkLogs } from "../../core/storage/framework-logs.ts";
import type { LogHead, LogProjection } from "../../core/storage/log-store.ts";
import { unlisted } from "../../core/storage/log-store.ts";

export interface LogPlace {
  readonly collection: string;
  readonly projection: LogProjection;
  /** The head of a log that is not whole yet: a start on such a copy would remove it. */
  readonly draft?: LogHead;
}

/** The marks of forgotten chats: the first to be copied. Neither listed nor searched, as the runs. */
export const marksPlace: LogPlace = { collection: "forgotten", projection: unlisted };
export const chatsPlace: LogPlace = {
  collection: "chats",
  projection: chatProjection,
  draft: { unfinished: true },
};
/** Runs and moods; also the log of moves, which each storage has of its own. */
export const runsPlace: LogPlace = { collection: "", projection: unlisted };

/** Collections of logs that are copied whole, in this order. The marks are joined, not copied. */
export const logPlaces: readonly LogPlace[] = [chatsPlace, runsPlace, ...frameworkLogs];

/** Collections of documents, copied after all logs. */
export const documentPlaces: readonly string[] = ["session"];

/** Collections of files, copied before the logs: no message comes without its files. */
export const filePlaces: readonly string[] = ["chats"];

/**
 * Collections of documents that each storage has of its own: up to which mark of its own log of marks a
 * feature has removed what it kept. Without one, a feature looks at every mark when it starts.
 */
export const ownDocuments: readonly string[] = ["forgotten"];

/** What of a home is no part of its storage, and stays where it is. */
export const staysInHome = [
  "throughline.config.json",
  "persona.md",
  "facts.md",
  "emotions.yaml",
  "consent.json",
  "feedback/",
  "outbox/",
  "quarantine/",
] as const;

import { isJsonObject, type JsonObject } from "../core/json.ts";
import type { Position } from "./act-log.ts";
import { type BootClock, readClock, storedReading } from "./boot-clock.ts";
import {
  type CompanionDocument,
  companionDocument,
  type DocumentParts,
} from "./companion-document.ts";
import type { EmotionState } from "./emotion/emotion.ts";
import { storeEmotions } from "./emotion/stored-emotions.ts";
import type { Life } from "./fold.ts";
import { foreignFields } from "./own-fields.ts";

/** What a document is made of. */
export interface SnapshotParts extends Pick<DocumentParts, "run" | "uptimeMs" | "shutdownClean"> {
  readonly clock: BootClock;
  /** The document that this run found. Its unknown fields are written back. */
  readonly left: CompanionDocument | undefined;
  readonly life: Life;
  /** Its emotions now. */
  readonly emotions: EmotionState;
  readonly deliveries: JsonObject;
  /** Where `life` stands in the log of acts, if there is one. */
  readonly position: Position | undefined;
}

/**
 * The document as it is to be written now.
 *
 * @param last the document that was written last, whose feelings are written again.
 */
export function snapshot(parts: SnapshotParts, last?: JsonObject): JsonObject {
  const { clock, left, life, deliveries, position, run, uptimeMs, shutdownClean } = parts;
  const { conversation, person, injections, config } = life;
  const heartbeat = readClock(clock);
  const felt = last === undefined ? storeEmotions(config, parts.emotions) : undefined;
  const before = isJsonObject(last?.["throughline"]) ? last["throughline"] : {};
  return companionDocument({
    run,
    uptimeMs,
    shutdownClean,
    heartbeat,
    person,
    conversation,
    sleepState: life.sleep,
    emotions: (felt?.emotions ?? last?.["emotions"]) as unknown as JsonObject,
    unknown: left?.unknown ?? {},
    throughline: {
      ...foreignFields(left),
      deliveries,
      injections,
      conversation_chats: conversation.map(({ chatId }) => chatId ?? null),
      emotions: (felt?.own as unknown as JsonObject | undefined) ?? before["emotions"] ?? null,
      saved: felt === undefined ? (before["saved"] ?? null) : storedReading(heartbeat),
      acts: position && { ...position, felt: life.emotions.at },
    },
  });
}

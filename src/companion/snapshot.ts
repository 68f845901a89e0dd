import type { Json, JsonObject } from "../core/json.ts";
import { type BootClock, readClock, storedReading } from "./boot-clock.ts";
import {
  type CompanionDocument,
  companionDocument,
  type DocumentParts,
} from "./companion-document.ts";
import type { ConversationCopy } from "./conversation-copy.ts";
import { foreignFields } from "./own-fields.ts";

/** What a document is made of, beside how the companion feels. */
export interface SnapshotParts
  extends Pick<DocumentParts, "run" | "uptimeMs" | "shutdownClean" | "sleepState" | "person"> {
  readonly clock: BootClock;
  /** What was left to this run: what nobody here knows of it is written again. */
  readonly left: CompanionDocument | undefined;
  readonly conversation: ConversationCopy;
  readonly deliveries: JsonObject;
  readonly injections: Json;
}

/**
 * The document as it is to be written now.
 *
 * @param feelings how it feels; or the document that was written last, whose feelings are written again.
 */
export function snapshot(
  parts: SnapshotParts,
  feelings:
    | { readonly emotions: JsonObject; readonly own: JsonObject }
    | { readonly last: JsonObject },
): JsonObject {
  const { clock, left, conversation, deliveries, injections, ...rest } = parts;
  const heartbeat = readClock(clock);
  const common = {
    ...{ ...rest, heartbeat, unknown: left?.unknown ?? {} },
    conversation: conversation.messages,
  };
  const own = {
    ...foreignFields(left),
    ...{ deliveries, injections, conversation_chats: conversation.chats },
  };
  if ("last" in feelings) {
    const { emotions, throughline } = feelings.last;
    const kept = throughline as JsonObject;
    const saved = { emotions: kept["emotions"] ?? null, saved: kept["saved"] ?? null };
    return companionDocument({
      ...{ ...common, emotions: emotions as JsonObject },
      throughline: { ...own, ...saved },
    });
  }
  const saved = storedReading(heartbeat);
  return companionDocument({
    ...{ ...common, emotions: feelings.emotions },
    throughline: { ...own, emotions: feelings.own, saved },
  });
}

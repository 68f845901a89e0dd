import { invalid } from "../errors.ts";
import { checkJson, isJsonObject, type JsonObject, tooLarge } from "../json.ts";
import { isLongerThan } from "../storage/key.ts";
import type { ChatHead } from "./chat-head.ts";
import { isKnownZone } from "./reset-day.ts";

/** Of the keys of a chat's metadata, which are the user's, the one that we read: an IANA zone. */
const zoneKey = "user_timezone";

/**
 * The most that a chat's metadata may be, in bytes of JSON: half of its head. The rest is for what the
 * chat itself says there. A head without room for that could never be written again.
 */
const maxMetadataBytes = 32 * 1024;
/** The same for what an import may leave in a head of fields that ours has no place for. */
const maxExtraBytes = 8 * 1024;

/**
 * @throws ThroughlineError `THROUGHLINE_INVALID`: no object, or `user_timezone` is no known zone.
 * @throws ThroughlineError `THROUGHLINE_TOO_LARGE`: more than 32 KiB, or too deep.
 */
export function checkMetadata(metadata: unknown): void {
  if (!isJsonObject(metadata)) throw invalid("metadata must be an object");
  checkJson(metadata, "metadata");
  if (!isMetadataSize(metadata)) {
    throw tooLarge(`metadata is longer than ${maxMetadataBytes} bytes`);
  }
  if (Object.hasOwn(metadata, zoneKey) && chatZone({ metadata }) === undefined) {
    throw invalid(`${zoneKey} must be a known IANA time zone`);
  }
}

/** Whether a head has room for this metadata, and for what it has to say beside. */
export function isMetadataSize(metadata: JsonObject): boolean {
  return !isLongerThan(JSON.stringify(metadata), maxMetadataBytes);
}

/** Whether it has for these fields of an import. */
export function isExtraSize(extra: JsonObject): boolean {
  return !isLongerThan(JSON.stringify(extra), maxExtraBytes);
}

/**
 * The zone of the person in this chat, where its metadata tells it: it counts before the configured one.
 * What an import left under that name may be no zone: then there is none.
 */
export function chatZone({ metadata }: Pick<ChatHead, "metadata">): string | undefined {
  const zone = metadata[zoneKey];
  return isKnownZone(zone) ? zone : undefined;
}

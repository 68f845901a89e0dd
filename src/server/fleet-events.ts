import type { Chats } from "../core/chat/chats.ts";
import { errorName } from "../core/errors.ts";
import type { JsonObject } from "../core/json.ts";
import { isJsonObject } from "../core/json.ts";
import type { Logger } from "../core/logger.ts";
import type { Fleet } from "../core/storage/fleet.ts";
import type { Events, Watchers } from "./events.ts";
import { messageJson } from "./message-json.ts";

/** Longer messages, in bytes of UTF-8 JSON, are told by their ids alone. */
const longestTold = 4_000;

/** What happens to the chats. How the companion feels each server knows by itself. */
const relayed: readonly (keyof Events)[] = [
  "message",
  "turn",
  "retrying",
  "session",
  "repair",
  "feedback",
];

/**
 * Tells the watchers of this server what those of every other one are told, and the other way round, in
 * order. Where something may have been missed the streams end: whoever watches comes back and reads.
 *
 * @returns what ends it.
 */
export function relayEvents(
  fleet: Fleet,
  ports: { readonly watchers: Watchers; readonly chats: Chats; readonly logger: Logger },
): () => void {
  const { watchers, chats, logger } = ports;
  const endHere = watchers.onPublish((name, event) => {
    if (relayed.includes(name)) fleet.tell(messageOf(name, event));
  });
  let told: Promise<void> = Promise.resolve();
  const endTold = fleet.onTold((message) => {
    if (message["about"] !== "event") return;
    told = told
      .then(() => publishHere(message, watchers, chats))
      .catch((error) => {
        logger.warn({ error: errorName(error) }, "an event of another server was not told");
      });
  });
  const endGap = fleet.onGap(() => watchers.endListening());
  return () => {
    endHere();
    endTold();
    endGap();
  };
}

function messageOf(name: keyof Events, event: Events[keyof Events]): JsonObject {
  const isLong = "message" in event && Buffer.byteLength(JSON.stringify(event)) > longestTold;
  const short = isLong ? { ...event, message: { id: event.message.id } } : event;
  // As it goes over the wire: what is undefined is not there.
  return { about: "event", name, event: JSON.parse(JSON.stringify(short)) as JsonObject };
}

async function publishHere(told: JsonObject, watchers: Watchers, chats: Chats): Promise<void> {
  const name = relayed.find((each) => each === told["name"]);
  const { event } = told;
  if (name === undefined || !isJsonObject(event) || !watchers.isHeard) return;
  const { message, chat_id: chatId } = event;
  if (!isJsonObject(message) || message["content"] !== undefined) {
    watchers.publishHere(name, event as unknown as Events[typeof name]);
    return;
  }
  const stored = await chats.find(String(chatId), String(message["id"]));
  if (stored === undefined) return; // forgotten meanwhile
  const shown = messageJson(stored);
  watchers.publishHere("message", { change: "stored", chat_id: String(chatId), message: shown });
}

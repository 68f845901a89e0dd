import type { Chats } from "../core/chat/chats.ts";
import type { StoredMessage } from "../core/chat/message.ts";
import { errorName } from "../core/errors.ts";
import type { JsonObject } from "../core/json.ts";
import { isJsonObject } from "../core/json.ts";
import type { Logger } from "../core/logger.ts";
import type { Cluster } from "../core/storage/cluster.ts";
import type { Watchers } from "./events.ts";
import { messageJson } from "./wire.ts";

/**
 * Publishes at this server what every other one publishes, and the other way round, in order. Where
 * something may have been missed the streams end: their readers come back and read.
 *
 * @returns what ends it.
 */
export function relayEvents(
  cluster: Cluster,
  ports: { readonly watchers: Watchers; readonly chats: Chats; readonly logger: Logger },
): () => void {
  const { watchers, chats, logger } = ports;
  const endHere = watchers.onPublish((name, event) => cluster.publish(messageOf(name, event)));
  let published: Promise<void> = Promise.resolve();
  const endSubscription = cluster.subscribe((message) => {
    if (message["about"] !== "event") return;
    published = published
      .then(() => publishHere(message, watchers, chats))
      .catch((error) => {
        logger.warn({ error: errorName(error) }, "an event of another server was not published");
      });
  });
  const endMissed = cluster.onMissed(() => watchers.endListening());
  return () => {
    endHere();
    endSubscription();
    endMissed();
  };
}

function messageOf(name: string, event: object): JsonObject {
  // A server without watchers reads no message.
  const short = isMessage(event) ? { ...event, message: { id: event.message.id } } : event;
  // As it goes over the wire: what is undefined is not there.
  return { about: "event", name, event: JSON.parse(JSON.stringify(short)) as JsonObject };
}

function isMessage(event: object): event is { readonly message: StoredMessage } {
  return "message" in event;
}

async function publishHere(sent: JsonObject, watchers: Watchers, chats: Chats): Promise<void> {
  const { name, event } = sent;
  if (typeof name !== "string" || !isJsonObject(event) || !watchers.hasListeners) return;
  const { message, chat_id: chatId } = event;
  if (!isJsonObject(message)) {
    watchers.publishHere(name, event);
    return;
  }
  const stored = await chats.find(String(chatId), String(message["id"]));
  if (stored === undefined) return; // forgotten since
  const shown = messageJson(stored);
  watchers.publishHere("message", { change: "stored", chat_id: String(chatId), message: shown });
}

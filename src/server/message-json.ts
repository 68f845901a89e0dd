import type { StoredMessage } from "../core/chat/message.ts";

/**
 * A message as HTTP shows it: without what only the model that made it can use (signatures, encrypted
 * reasoning, ids of items), which may be larger than the message itself.
 */
export function messageJson(message: StoredMessage): StoredMessage {
  const { provider_data: _, ...shown } = message;
  return shown as StoredMessage;
}

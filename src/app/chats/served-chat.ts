import type { z } from "zod";
import type { Settings } from "../../cli/settings.ts";
import { chatZone } from "../../core/chat/chat-head.ts";
import { resolveFreshness } from "../../core/chat/freshness.ts";
import type { PeriodView } from "../../core/chat/provider-sessions.ts";
import type { JsonObject } from "../../core/json.ts";
import type { chat } from "../../server/answer-schemas.ts";

/** What `GET /api/chats/{id}` answers, of which the session is a part. */
export type ServedChat = z.infer<typeof chat>;

/** Reads the session out of a chat. @returns `null`: none was opened yet. */
export function sessionOf(served: ServedChat): PeriodView | null {
  if (served.row.generation === 0) return null;
  return Object.fromEntries(fields.map((name) => [name, served[name]])) as unknown as PeriodView;
}

const fields = [
  ...(["chat_id", "provider", "model", "created_at", "last_active", "generation"] as const),
  ...(["provider_sessions", "session_id", "message_count"] as const),
  ...(["total_cost_usd", "total_tokens"] as const),
];

/** The zone of the person in a chat; where it tells none, the one of the settings. */
export function zoneOf({ freshness }: Settings, served?: Pick<ServedChat, "metadata">): string {
  return (
    (served && chatZone({ metadata: served.metadata as JsonObject })) ??
    resolveFreshness(freshness).timeZone
  );
}

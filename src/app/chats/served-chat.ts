import type { z } from "zod";
import type { Io } from "../../cli/io.ts";
import type { Routes } from "../../cli/routes.ts";
import type { Flags, Settings } from "../../cli/settings.ts";
import type { ChatFormat } from "../../core/chat/chat-formats.ts";
import { chatZone } from "../../core/chat/chat-head.ts";
import { resolveFreshness } from "../../core/chat/freshness.ts";
import type { JsonObject } from "../../core/json.ts";
import type { chat } from "../../server/answer-schemas.ts";

/** What `GET /api/chats/{id}` answers, of which the session is a part. */
export type ServedChat = z.infer<typeof chat>;

/** The options of the commands of `sessions`: each has some of them. */
export interface ChatFlags extends Flags {
  readonly limit?: number;
  readonly cursor?: string;
  readonly unanswered?: boolean;
  readonly messages?: number;
  readonly chat?: string;
  readonly format?: ChatFormat;
  readonly out?: string;
  readonly provider?: string;
  readonly all?: boolean;
  readonly yes?: boolean;
}

/** What a command of `sessions` is given. */
export interface ChatCommand {
  readonly routes: Routes;
  readonly settings: Settings;
  readonly io: Io;
  readonly flags: ChatFlags;
  /** What was typed behind its name. */
  readonly args: readonly string[];
  /** That of the chat which is named first. */
  readonly path: string;
}

/** The zone of the person in a chat; where it tells none, the one of the settings. */
export function zoneOf({ freshness }: Settings, served?: Pick<ServedChat, "metadata">): string {
  return (
    (served && chatZone({ metadata: served.metadata as JsonObject })) ??
    resolveFreshness(freshness).timeZone
  );
}

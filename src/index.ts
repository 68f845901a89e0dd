// The front door: `import … from "throughline"`. It loads next to nothing, so that importing costs
// nothing: opening loads what the chosen storage needs. What runs turns is in "throughline/runtime".
import type { Throughline, ThroughlineOptions } from "./throughline.ts";

export { type Clock, systemClock } from "./clock.ts";
export { type ErrorCode, errorCodes, isThroughlineError, ThroughlineError } from "./errors.ts";
export type { Json, JsonObject } from "./json.ts";
export type { Logger } from "./logger.ts";
export type { ChatRow } from "./memories/chat/chat-row.ts";
export type { Chats } from "./memories/chat/chats.ts";
export type { FindChatsOptions, FoundChat } from "./memories/chat/find-chats.ts";
export type { ForgetReceipt } from "./memories/chat/forget-receipt.ts";
export type { Attachment, Role, StoredMessage, ToolCall } from "./memories/chat/message.ts";
export type { MessageInput } from "./memories/chat/message-input.ts";
export type { MessagePage } from "./memories/chat/message-page.ts";
export type { MessageHit } from "./memories/chat/search-chats.ts";
export type { Companion, CompanionChange, SleepState } from "./memories/companion/companion.ts";
export type { PersonSeen } from "./memories/companion/companion-document.ts";
export type { EmotionConfiguration } from "./memories/companion/emotion/configuration.ts";
export type { Feeling } from "./memories/companion/emotion/feel.ts";
export type { CompanionOptions } from "./memories/companion/options.ts";
export type { RestartKind, RestartReport } from "./memories/companion/restart.ts";
export type { Interaction } from "./memories/interaction/interaction.ts";
export type { WorkingMemories } from "./memories/interaction/working-memories.ts";
export type { WorkingMemory } from "./memories/interaction/working-memory.ts";
export type { WorkingMemoryView } from "./memories/interaction/working-memory-view.ts";
export type { Reason } from "./memories/provider-session/freshness.ts";
export type { FreshnessOptions, FreshnessRules } from "./memories/provider-session/options.ts";
export type {
  ProviderSessions,
  Resolution,
  SessionView,
  Target,
} from "./memories/provider-session/provider-sessions.ts";
export type { UsageDelta } from "./memories/provider-session/usage.ts";
export type { DocumentStore, StoredDocument, WriteOptions } from "./storage/document-store.ts";
export type { Fleet, Lease, LeaseName, LeaseOptions } from "./storage/fleet.ts";
export type {
  AppendOptions,
  EraseOptions,
  ListOptions,
  ListPage,
  LogHead,
  LogProjection,
  LogRecord,
  LogRow,
  LogStore,
  LogTail,
  PageOptions,
  SearchHit,
  SearchOptions,
  StoredRecord,
} from "./storage/log-store.ts";
export type { Durability, OwnHome, RepairReport, Storage } from "./storage/storage.ts";
export type { Throughline, ThroughlineOptions };

/**
 * Opens a companion's memories. What a dead process left half done is finished first.
 *
 * @throws TypeError neither `home` nor `storage`, or both.
 * @throws ThroughlineError `THROUGHLINE_LOCKED`: another process writes this home.
 * @throws ThroughlineError `THROUGHLINE_CONFIGURATION`: a setting or the home cannot be used.
 */
export async function openThroughline(options: ThroughlineOptions): Promise<Throughline> {
  // Both at once, where both are needed: what opening costs is mostly loading.
  const files =
    options?.home === undefined ? undefined : import("./storage/files/open-file-storage.ts");
  const [opener] = await Promise.all([import("./throughline.ts"), files]);
  return opener.openThroughline(options);
}

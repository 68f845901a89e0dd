// The main entry point: `import … from "throughline"`. It loads next to nothing, so that importing costs
// nothing: opening loads what the chosen storage and the turns need.
import type { Throughline, ThroughlineOptions } from "./core/throughline.ts";

export type { GivenFile } from "./core/chat/attachments.ts";
export type { ChatRow } from "./core/chat/chat-head.ts";
export type { Chats } from "./core/chat/chats.ts";
export type { ForgetReceipt } from "./core/chat/forget.ts";
export type { FreshnessOptions, FreshnessRules, Reason } from "./core/chat/freshness.ts";
export type {
  Attachment,
  ModelFile,
  ModelInput,
  Role,
  StoredMessage,
  ToolCall,
} from "./core/chat/message.ts";
export type { MessageInput } from "./core/chat/message-input.ts";
export type { MessagePage } from "./core/chat/message-page.ts";
export type { UsageDelta } from "./core/chat/period.ts";
export type {
  PeriodView,
  ProviderSessions,
  Resolution,
  Target,
} from "./core/chat/provider-sessions.ts";
export type { FindChatsOptions, FoundChat, MessageHit } from "./core/chat/search-chats.ts";
export type { Interaction } from "./core/chat/summary.ts";
export type { WorkingMemories, WorkingMemory } from "./core/chat/working-memory.ts";
export { type Clock, systemClock } from "./core/clock.ts";
export { type ErrorCode, errorCodes, isThroughlineError, ThroughlineError } from "./core/errors.ts";
export type {
  BegunTurn,
  Extension,
  Removal,
  TurnHooks,
  TurnPart,
} from "./core/extension.ts";
export type { Json, JsonObject } from "./core/json.ts";
export type { Logger } from "./core/logger.ts";
export type { OfferedModel } from "./core/models/model-name.ts";
export { offlineResponder } from "./core/models/offline-responder.ts";
export {
  type FinishReason,
  type ModelList,
  type OfferedTools,
  type ProviderModels,
  type Responder,
  ResponderError,
  type ResponderEvent,
  type ResponderRequest,
  type Responders,
  type ResponderTool,
  type Retry,
  type TurnTool,
  type TurnTools,
  type Usage,
} from "./core/models/responder.ts";
export type { Runtime } from "./core/runtime.ts";
export type { Cluster } from "./core/storage/cluster.ts";
export type { DocumentStore, StoredDocument, WriteOptions } from "./core/storage/document-store.ts";
export type { FileStore, StoredFile } from "./core/storage/file-store.ts";
export type { Lease, LeaseName, LeaseOptions, Leases } from "./core/storage/leases.ts";
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
} from "./core/storage/log-store.ts";
export { LocalCluster, LocalLeases } from "./core/storage/one-process.ts";
export type { Durability, OwnHome, RepairReport, Storage } from "./core/storage/storage.ts";
export type { Span, SpanFacts, SpanStart, Telemetry } from "./core/telemetry.ts";
export { systemTimers, type Timers } from "./core/timers.ts";
export type { NextPrompt, NextPromptInput, PromptSection } from "./core/turns/next-prompt.ts";
export type { Opened, OpenInput, OpenTurn, TurnEnd } from "./core/turns/open-turn.ts";
export type { Turn, TurnAnswer, TurnProgress } from "./core/turns/turn.ts";
export type { TurnInput, Turns } from "./core/turns/turns.ts";
export type { TurnsOptions } from "./core/turns/turns-options.ts";
export type { Throughline, ThroughlineOptions };

/**
 * Opens a companion's memories. What a dead process left half done is finished first.
 *
 * @throws ThroughlineError `THROUGHLINE_LOCKED`: another process writes this home.
 * @throws ThroughlineError `THROUGHLINE_CONFIGURATION`: a setting or the home cannot be used; neither
 *   `home` nor `storage`, or both.
 */
export async function openThroughline(options: ThroughlineOptions): Promise<Throughline> {
  // Both at once, where both are needed: what opening costs is mostly loading.
  const files =
    options?.home === undefined ? undefined : import("./core/storage/files/open-file-storage.ts");
  const [opener] = await Promise.all([import("./core/throughline.ts"), files]);
  return opener.openThroughline(options);
}

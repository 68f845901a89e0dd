// The front door: everything that `import … from "throughline"` gives.
export { type Clock, systemClock } from "./clock.ts";
export { type ErrorCode, errorCodes, isThroughlineError, ThroughlineError } from "./errors.ts";
export { type NewId, randomId } from "./ids.ts";
export type { Json, JsonObject } from "./json.ts";
export type { Logger } from "./logger.ts";
export type { ChatRow, Chats, ForgetReceipt, MessagePage } from "./memories/chat/chats.ts";
export type { HistoryOptions } from "./memories/chat/history-options.ts";
export { type HistoryView, historyView } from "./memories/chat/history-view.ts";
export type { ModelInput, StoredMessage, ToolCall } from "./memories/chat/message.ts";
export type { MessageInput } from "./memories/chat/message-input.ts";
export type { Interaction } from "./memories/interaction/interaction.ts";
export type { WorkingMemories } from "./memories/interaction/working-memories.ts";
export { WorkingMemory } from "./memories/interaction/working-memory.ts";
export type { WorkingMemoryView } from "./memories/interaction/working-memory-view.ts";
export type { Reason } from "./memories/provider-session/freshness.ts";
export type { FreshnessOptions } from "./memories/provider-session/options.ts";
export type {
  ProviderSessions,
  Resolution,
  SessionView,
} from "./memories/provider-session/provider-sessions.ts";
export type { UsageDelta } from "./memories/provider-session/usage.ts";
export { runCoordinator } from "./runtime/coordinator.ts";
export { parseIntent } from "./runtime/intent.ts";
export { type Responder, ResponderError, type ResponderEvent } from "./runtime/responder.ts";
export { isStopRequest } from "./runtime/stop-words.ts";
export { textInput, textOnly, textOutput } from "./runtime/text-ports.ts";
export type { Turn, TurnAnswer, TurnProgress } from "./runtime/turn.ts";
export { Turns } from "./runtime/turns.ts";
export type { DocumentStore } from "./storage/document-store.ts";
export type { LogProjection, LogStore } from "./storage/log-store.ts";
export type { Durability, RepairReport, Storage } from "./storage/storage.ts";
export { openThroughline, type Throughline, type ThroughlineOptions } from "./throughline.ts";

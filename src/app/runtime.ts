// `import … from "throughline/runtime"`: what runs a conversation on top of the memories.

export { companionInjections } from "../companion/conversation/companion-injections.ts";
export type {
  Injection,
  InjectionResult,
  InjectOptions,
} from "../companion/conversation/injection.ts";
export type { InjectionStream } from "../companion/conversation/injection-stream.ts";
export { Injector, type InjectorPorts } from "../companion/conversation/injector.ts";
export type { MemoryProvider } from "../companion/conversation/memory-provider.ts";
export {
  type PendingInjections,
  readPendingItems,
} from "../companion/conversation/pending-injections.ts";
export { ReplayBreaker, voiceReplay } from "../companion/conversation/voice-replay.ts";
export { builtInEmotions } from "../companion/emotion/built-in-emotions.ts";
export { readEmotionConfiguration } from "../companion/emotion/read-configuration.ts";
export type { HistoryOptions } from "../core/chat/history-options.ts";
export { type HistoryView, historyView } from "../core/chat/history-view.ts";
export type { ModelInput } from "../core/chat/message.ts";
export { WorkingMemories } from "../core/chat/working-memories.ts";
export { WorkingMemory } from "../core/chat/working-memory.ts";
export {
  type FinishReason,
  type OfferedTools,
  type Responder,
  ResponderError,
  type ResponderEvent,
  type ResponderRequest,
  type ResponderTool,
  type Retry,
  type TurnTool,
  type TurnTools,
  type Usage,
} from "../core/models/responder.ts";
export { systemTimers, type Timers } from "../core/timers.ts";
export { runCoordinator } from "../core/turns/coordinator.ts";
export type {
  CoordinatorPorts,
  InputTrigger,
  OutputSink,
  SpeechToText,
} from "../core/turns/coordinator-ports.ts";
export { type Intent, parseIntent } from "../core/turns/intent.ts";
export { isStopRequest } from "../core/turns/stop-words.ts";
export { textInput, textOnly, textOutput } from "../core/turns/text-ports.ts";
export type { Turn, TurnAnswer, TurnProgress } from "../core/turns/turn.ts";
export { type Responders, type TurnInput, type TurnPorts, Turns } from "../core/turns/turns.ts";
export { type FeedOptions, feedCompanion, feedTurns } from "../moments/turns/feed.ts";
export { recallWords } from "../moments/turns/recall.ts";
export { offerSkills } from "../moments/turns/skills.ts";
export { transcriptUpTo } from "../moments/turns/transcript.ts";

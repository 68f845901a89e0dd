// `import … from "throughline/runtime"`: what runs a conversation on top of the memories.
export type { HistoryOptions } from "../memories/chat/history-options.ts";
export { type HistoryView, historyView } from "../memories/chat/history-view.ts";
export type { ModelInput } from "../memories/chat/message.ts";
export { builtInEmotions } from "../memories/companion/emotion/built-in-emotions.ts";
export { readEmotionConfiguration } from "../memories/companion/emotion/read-configuration.ts";
export { WorkingMemories } from "../memories/interaction/working-memories.ts";
export { WorkingMemory } from "../memories/interaction/working-memory.ts";
export { systemTimers, type Timers } from "../timers.ts";
export { companionInjections } from "./companion-injections.ts";
export { runCoordinator } from "./coordinator.ts";
export type {
  CoordinatorPorts,
  InputTrigger,
  OutputSink,
  SpeechToText,
} from "./coordinator-ports.ts";
export type { Injection, InjectionResult, InjectOptions } from "./injection.ts";
export type { InjectionStream } from "./injection-stream.ts";
export { Injector, type InjectorPorts } from "./injector.ts";
export { type Intent, parseIntent } from "./intent.ts";
export type { MemoryProvider } from "./memory-provider.ts";
export { type FeedOptions, feedCompanion, feedTurns } from "./moment-feed.ts";
export { recallWords } from "./moment-recall.ts";
export { offerSkills } from "./moment-skills.ts";
export { transcriptUpTo } from "./moment-transcript.ts";
export { type PendingInjections, readPendingItems } from "./pending-injections.ts";
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
} from "./responder.ts";
export { isStopRequest } from "./stop-words.ts";
export { textInput, textOnly, textOutput } from "./text-ports.ts";
export type { Turn, TurnAnswer, TurnProgress } from "./turn.ts";
export { type Responders, type TurnInput, type TurnPorts, Turns } from "./turns.ts";
export { ReplayBreaker, voiceReplay } from "./voice-replay.ts";

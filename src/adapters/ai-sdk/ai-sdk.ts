// `import … from "throughline/ai-sdk"`: models through the AI SDK as responders of a turn, and the routes of
// its chat page.
export { type AiSdkResponderOptions, aiSdkResponder } from "../../core/models/ai-sdk-responder.ts";
export { type ModelSpec, modelName, parseModelName } from "../../core/models/model-name.ts";
export { offlineResponder } from "../../core/models/offline-responder.ts";
export type { Price, Prices } from "../../core/models/prices.ts";
export { createResponder, ResponderRegistry } from "../../core/models/registry.ts";
export type { ModelSettings } from "../../core/models/settings.ts";
export { type ChatRoutes, chatRoutes } from "./chat-routes.ts";
export { loadMessages } from "./load-messages.ts";
export type { ChatRoutesOptions, ChatTurn, UIAnswer } from "./make-answer.ts";
export type { UIChatMessage } from "./ui-message.ts";

// `import … from "throughline/ai-sdk"`: models through the AI SDK, as responders of a turn.
export { type AiSdkResponderOptions, aiSdkResponder } from "./ai-sdk-responder.ts";
export { type ModelSpec, modelName, parseModelName } from "./model-name.ts";
export { createResponder, detectResponder } from "./models.ts";
export { offlineResponder } from "./offline-responder.ts";
export type { Price, Prices } from "./prices.ts";
export type { ModelSettings } from "./providers.ts";
export { ResponderRegistry } from "./registry.ts";

// The entry point `throughline/langchain`.
export type { LangChainMessage } from "./chat-message.ts";
export { ThroughlineChatMessageHistory } from "./history.ts";

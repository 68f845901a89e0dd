// What the thread of the index loads: how logs are listed and searched. See `projectionModule`.
export { chatProjection } from "./chat/chat-head.ts";
export { frameworkProjection } from "./storage/framework-logs.ts";
export { unlisted } from "./storage/log-store.ts";

// The entry point `throughline/openai-agents`.
export { ThroughlineSession } from "./session.ts";

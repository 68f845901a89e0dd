// The Conversations API of OpenAI in the program. Deleting this file, its lines in features.ts, and
// src/adapters/openai/ leaves a program without it.
import type { Feature } from "./feature.ts";

export const openai: Feature = {
  routes: async () => (await import("../adapters/openai/routes.ts")).conversationRoutes(),
};

// The Conversations API of OpenAI in the program. Deleting this file, its lines in features.ts, and
// src/adapters/openai/ leaves a program without it.
import type { Feature } from "./feature.ts";

export const openai: Feature = {
  async start() {
    return {
      routes: async () => {
        const { conversationRoutes } = await import("../adapters/openai/routes.ts");
        return conversationRoutes();
      },
    };
  },
};

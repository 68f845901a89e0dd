// MCP in the server: one route, behind the guard and the token of all others.
import { createMcpHandler, type McpServer } from "@modelcontextprotocol/server";
import type { ServerFeature } from "../../server/options.ts";
import type { Router } from "../../server/router.ts";
import { messageJson } from "../../server/wire.ts";
import { serverOver } from "./server.ts";
import type { Remember } from "./tools.ts";

/** `POST /mcp`, for `createServer`. What is changed through it is published to those who watch. */
export function mcpRoutes(remember: Remember | undefined): ServerFeature {
  return (router: Router) => {
    const { throughline, turns, watchers, version } = router.ports;
    const server = serverOver(throughline, {
      version,
      remember,
      forgetting: (chatId) => turns.end(chatId),
      appended(chatId, messages) {
        for (const stored of messages) {
          const message = messageJson(stored);
          watchers.publish("message", { change: "stored", chat_id: chatId, message });
        }
      },
      changed: (chatId, change) => watchers.publish("session", { chat_id: chatId, change }),
    });
    return mountMcp(router, server);
  };
}

/** @param server makes one for each request. @returns what ends it. */
export function mountMcp(router: Router, server: () => McpServer): () => void {
  const { limits, begin } = router.ports;
  const handler = createMcpHandler(server, {
    maxRequestBodySize: limits.bodyBytes,
    maxSubscriptions: limits.watchers,
    keepAliveMs: limits.keepAliveMs,
  });
  router.serve("post", "/mcp", ({ req }) => begin(() => handler.fetch(req.raw)));
  return () => void handler.close();
}

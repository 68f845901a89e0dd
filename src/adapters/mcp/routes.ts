// MCP in the server: one route, behind the guard and the token of all others.
import type { McpHttpHandler } from "@modelcontextprotocol/server";
import { shownMessages } from "../../core/chat/marks.ts";
import { arriving } from "../../server/input.ts";
import type { ServerFeature } from "../../server/options.ts";
import type { Router } from "../../server/router.ts";
import { messageJson } from "../../server/wire.ts";
import type { Remember } from "./remember.ts";

/** `POST /mcp`, for `createServer`. What is changed through it is published to those who watch. */
export function mcpRoutes(remember: Remember | undefined): ServerFeature {
  return (router: Router) => {
    const { throughline, turns, watchers, version, track, limits, begin } = router.ports;
    let handler: Promise<McpHttpHandler> | undefined;
    /** At the first request, so that a start waits for none of this. */
    const open = async () => {
      const [{ serverOver }, { createMcpHandler }] = await Promise.all([
        import("./server.ts"),
        import("@modelcontextprotocol/server"),
      ]);
      const makeServer = serverOver(throughline, {
        version,
        remember,
        running: track,
        forgetting: (chatId) => turns.end(chatId),
        async appended(chatId, messages) {
          // A repeated message may have been hidden since.
          const shown = await shownMessages(throughline.chats.logs, chatId, messages);
          for (const each of shown) {
            const message = messageJson(each);
            watchers.publish("message", { change: "stored", chat_id: chatId, message });
          }
        },
        changed: (chatId, change) => watchers.publish("session", { chat_id: chatId, change }),
      });
      return createMcpHandler(makeServer, {
        maxRequestBodySize: limits.bodyBytes,
        maxSubscriptions: limits.watchers,
        keepAliveMs: limits.keepAliveMs,
      });
    };
    router.serve("post", "/mcp", ({ req }) =>
      begin(async () => {
        // It reads the body itself.
        const length = Number(req.header("content-length") ?? limits.bodyBytes);
        arriving.get(req.raw)?.add(Math.min(length, limits.bodyBytes));
        handler ??= open();
        return (await handler).fetch(req.raw);
      }),
    );
    return () => void handler?.then(({ close }) => close()).catch(() => undefined); // it was never open
  };
}

import type { Context } from "hono";
import { z } from "zod";
import { chatFormatNames, chatFormats } from "../core/chat/chat-formats.ts";
import { renderChat } from "../core/chat/render-chat.ts";
import { foreignFile } from "./guard.ts";
import { reportError } from "./problem.ts";
import { disconnect, type Env, type Router } from "./router.ts";

const format = () =>
  z.enum(chatFormatNames, `must be one of ${chatFormatNames.join(", ")}`).optional();

/** A whole chat as a file, in bounded memory. */
export function addExportRoute(router: Router): void {
  const { throughline } = router.ports;
  const { chats, rules } = throughline;
  router.get("/api/chats/{id}/export", {
    id: "exportChat",
    query: () => z.strictObject({ format: format() }),
    summary: "Download the whole chat as a file: JSON lines, Markdown or one page of HTML",
    description: "A download that broke off has no proper end.",
    answers: {
      200: { says: "The file.", types: Object.values(chatFormats).map(({ type }) => type) },
    },
    answer: async ({ params, query }, context) => {
      const { format = "jsonl" } = query;
      const { type, ending } = chatFormats[format];
      const name = params.id.replace(/[^A-Za-z0-9_-]+/g, "_").slice(0, 60);
      const parts = await renderChat(chats, params.id, format, rules.timeZone);
      return streamed(router, context, parts, foreignFile(`${name}.${ending}`, type));
    },
  });
}

/**
 * Answers with a text of any length. What cannot be read at all is a problem, not a file. Reads on only when the
 * client does. A failure midway cuts the response: it must not look whole.
 */
export async function streamed(
  router: Router,
  context: Context<Env>,
  parts: AsyncGenerator<string>,
  headers: Readonly<Record<string, string>>,
): Promise<Response> {
  let next: IteratorResult<string, unknown> = await parts.next();
  // A generator would not end `parts` if it is cancelled before its first read.
  const cancel = async () => void (await parts.return(undefined));
  const encoder = new TextEncoder();
  const pull = async (body: ReadableStreamDefaultController<Uint8Array>) => {
    let text = "";
    try {
      for (; next.done !== true && text.length < pieceLength; next = await parts.next()) {
        text += next.value;
      }
    } catch (error) {
      reportError(router.ports, error, { route: context.get("route"), request: context.req.raw });
      disconnect(context)();
      throw new Error("the export broke off", { cause: error });
    }
    if (text !== "") body.enqueue(encoder.encode(text));
    if (next.done === true) body.close();
  };
  return new Response(new ReadableStream({ pull, cancel }, { highWaterMark: 0 }), { headers });
}

const pieceLength = 16_384;

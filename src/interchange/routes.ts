// What an export consists of, over HTTP: `throughline export` writes the files.
import { z } from "zod";
import type { Chats } from "../core/chat/chats.ts";
import { isFaultOfLog, isThroughlineError } from "../core/errors.ts";
import { streamed } from "../server/export-route.ts";
import type { Router } from "../server/router.ts";
import { type ExportOptions, exportChats, exportFormats } from "./export.ts";

/** A line of the answer: a file begins, a piece of its text, its end, or a chat that is left out. */
export type ExportLine =
  | { readonly file: string; readonly chat_id?: string | undefined }
  | { readonly text: string }
  | { readonly end: "whole" | "broken" }
  | { readonly left_out: string; readonly says: string };

const query = () =>
  z.strictObject({ format: z.enum(exportFormats), chat_id: z.string().optional() });

/** The chats in the formats of other programs, for `createServer`. */
export function interchangeRoutes(router: Router): () => void {
  router.get("/api/export", {
    id: "exportChats",
    query,
    summary: "Download every chat, or one, for another program",
    description:
      "JSON lines: `file` begins a file, each `text` continues it, and `end` says whether it is `whole` or " +
      "`broken`. `left_out` names a chat that cannot be read. A download that broke off lacks an `end`.",
    answers: { 200: { says: "The files.", types: ["application/jsonl"] } },
    answer: ({ query: { format, chat_id: chatId } }, context) => {
      const lines = exportLines(router.ports.throughline.chats, { format, chatId });
      return streamed(router, context, lines, { "content-type": "application/jsonl" });
    },
  });
  return () => undefined;
}

async function* exportLines(chats: Chats, options: ExportOptions): AsyncGenerator<string> {
  const line = (value: ExportLine) => `${JSON.stringify(value)}\n`;
  let notes = "";
  const onUnreadable = async (chatId: string, error: unknown) => {
    if (chatId === options.chatId) throw error;
    if (isThroughlineError(error, "THROUGHLINE_NOT_FOUND")) return; // forgotten since the export began
    if (!isFaultOfLog(error)) throw error;
    notes += line({ left_out: chatId, says: error.message });
  };
  for await (const { name, chatId, pieces } of exportChats(chats, { ...options, onUnreadable })) {
    yield line({ file: name, chat_id: chatId });
    let end: "whole" | "broken" = "whole";
    try {
      for await (const text of pieces) yield line({ text });
    } catch (error) {
      if (chatId === undefined) throw error;
      await onUnreadable(chatId, error);
      end = "broken";
    }
    yield notes + line({ end });
    notes = "";
  }
}

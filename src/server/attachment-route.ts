import { attachmentsOf, kindOf, pictureTypes } from "../core/chat/attachments.ts";
import { notFound } from "../core/chat/chat-log.ts";
import { isHead, type Router } from "./router.ts";

/** The files of messages, as long as their messages are shown. */
export function addAttachmentRoute(router: Router): void {
  const { chats } = router.ports.throughline;
  router.get("/api/chats/{id}/messages/{message_id}/attachments/{sha256}", {
    id: "getAttachment",
    summary: "Get a file that was sent with a message",
    description:
      "PNG, JPEG, GIF and WebP pictures may be shown in a page. Every other file is a download. 404 once the " +
      "message was hidden, taken back, erased or cleared, or its chat forgotten.",
    answers: {
      200: { says: "The bytes.", types: ["application/octet-stream", ...pictureTypes] },
      304: { says: "The bytes are those that `If-None-Match` names." },
    },
    answer: async ({ params }, context) => {
      const { id: chatId, message_id: messageId, sha256 } = params;
      const { head } = await chats.existing(chatId);
      const message = await chats.message(chatId, messageId);
      const isShown = message.seq > (head.clear_seq ?? 0);
      const file = attachmentsOf(message).find((each) => each.sha256 === sha256);
      if (!isShown || file === undefined) throw notFound(chatId, "file");
      const etag = `"${sha256}"`;
      // Asked again each time: what was hidden or forgotten must not come from a cache.
      const caching = { "cache-control": "private, no-cache", etag };
      if (context.req.header("if-none-match") === etag) {
        return new Response(null, { status: 304, headers: caching });
      }
      const bytes = await chats.attachment(chatId, sha256);
      const isPicture = kindOf(file) === "picture";
      const how = isPicture ? "inline" : "attachment";
      return new Response(isHead(context) ? null : new Uint8Array(bytes), {
        headers: {
          ...caching,
          // Nothing of a file that a person made may run, whatever a browser takes it for.
          "content-type": isPicture ? file.type : "application/octet-stream",
          "content-disposition": `${how}; ${fileNameParameter(file.name)}`,
          "content-security-policy": "default-src 'none'; sandbox",
          "content-length": String(bytes.length),
        },
      });
    },
  });
}

/** A name as a parameter of a header, for browsers of any age (RFC 6266). */
function fileNameParameter(name: string): string {
  const plain = name.replace(/[^\x20-\x7e]|["\\%]/g, "_");
  const encoded = encodeURIComponent(name.toWellFormed()).replace(
    /['()*]/g,
    (letter) => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `filename="${plain}"; filename*=UTF-8''${encoded}`;
}

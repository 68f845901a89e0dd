// Names for the files of an export, and the chats that the names of files stand for.
import { createHash } from "node:crypto";

/**
 * The chat id that a file's name stands for: the first `_` was a `:`, and in `matrix_!room_server`
 * the last one too.
 */
export function chatIdOfName(name: string): string {
  const id = name.replace(/\.jsonl$/i, "").replace("_", ":");
  return /^matrix:!/.test(id) ? id.replace(/_([^_]*)$/, ":$1") : id;
}

const unsafe = /[<>:"/\\|?*\p{Cc}\p{Cf}\p{Cs}]/gu;
const reserved = /^(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)/i;
const maxBytes = 150;

/**
 * Names for the files of an export: `telegram:42` is `telegram_42.jsonl`, where the seed's reader
 * looks for it. A name that could be that of another chat, also on a disk that ignores case, or that
 * some system does not take, ends in `~` and 8 hex digits of the id's SHA-256.
 */
export class ExportNames {
  readonly #used = new Set<string>();

  of(chatId: string): string {
    const plain = chatId.replace(unsafe, "_");
    const isSafe =
      chatIdOfName(`${plain}.jsonl`) === chatId &&
      Buffer.byteLength(plain) <= maxBytes &&
      !reserved.test(plain) &&
      !/^\.|[. ]$|^\s/.test(plain) &&
      !plain.includes("~");
    const name = isSafe && !this.#used.has(fold(plain)) ? plain : this.#marked(plain, chatId);
    this.#used.add(fold(name));
    return `${name}.jsonl`;
  }

  #marked(plain: string, chatId: string): string {
    const digest = createHash("sha256").update(chatId).digest("hex").slice(0, 8);
    let start = plain.replace(/^[.\s]+/, "_").replace(reserved, "_");
    while (Buffer.byteLength(start) > maxBytes) start = [...start].slice(0, -1).join("");
    return `${start}~${digest}`;
  }
}

function fold(name: string): string {
  return name.normalize("NFKD").toLowerCase();
}

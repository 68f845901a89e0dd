// Whose packages are to be looked for in a bucket, so that who it is cannot be read from it. All of it
// is the name of the entry, which is still there when its content is damaged.
import { createHash } from "node:crypto";
import { foldedName, type Selection } from "../directory/delete-packages.ts";
import { timeOf } from "../directory/names.ts";

export interface OwedSearch {
  readonly by: "chat" | "message" | "person" | "all";
  /** Of the chat's id, of it and the message's, or of the person's name without case: 64 hex digits. */
  readonly sha256: string;
  /** When somebody asked, in seconds since 1970: what came later is not meant. */
  readonly at: number;
}

const shape = /^search_(chat|message|person|all)_([0-9a-f]{64})_(\d{1,15})$/;

/** `undefined`: one package is looked for by its name. */
export function searchFor(selection: Selection, at: number): OwedSearch | undefined {
  if ("chatId" in selection) return { by: "chat", sha256: sha256(selection.chatId), at };
  if ("message" in selection) {
    const { chatId, id } = selection.message;
    return { by: "message", sha256: messageHash(chatId, id), at };
  }
  if ("all" in selection) return { by: "all", sha256: sha256(""), at };
  if (!("person" in selection)) return undefined;
  return { by: "person", sha256: sha256(foldedName(selection.person)), at };
}

export const searchId = ({ by, sha256: hash, at }: OwedSearch): string =>
  `search_${by}_${hash}_${Math.floor(at)}`;

export function searchOfId(id: string): OwedSearch | undefined {
  const [, by, hash, at] = shape.exec(id) ?? [];
  if (hash === undefined) return undefined;
  return { by: by as OwedSearch["by"], sha256: hash, at: Number(at) };
}

/** Whether a package of this name can be meant: the second of its reaction is in it. */
export function isInTime({ at }: OwedSearch, name: string): boolean {
  return timeOf(name) <= at * 1_000;
}

export function isSearchedFor(
  { by, sha256: hash }: OwedSearch,
  whose: {
    readonly chat_id: string | null;
    readonly people: readonly string[];
    readonly messageIds: readonly string[];
  },
): boolean {
  const { chat_id: chatId, messageIds } = whose;
  if (by === "all") return true;
  if (by === "chat") return chatId !== null && sha256(chatId) === hash;
  if (by === "message") {
    return chatId !== null && messageIds.some((id) => messageHash(chatId, id) === hash);
  }
  return whose.people.some((one) => sha256(foldedName(one)) === hash);
}

const messageHash = (chatId: string, id: string) => sha256(JSON.stringify([chatId, id]));

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

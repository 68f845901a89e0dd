import { isJsonObject, type Json } from "../core/json.ts";

export interface ContentText {
  readonly text: string;
  /** The text is not all that was there: the original is worth keeping beside it. */
  readonly isChanged: boolean;
}

/**
 * The text of a message's content: as it is, of its parts, or as JSON. No content at all is no text:
 * an assistant message that only calls tools has none.
 */
export function contentText(content: Json | undefined): ContentText {
  if (typeof content === "string") return { text: content, isChanged: false };
  if (content === undefined || content === null) return { text: "", isChanged: false };
  if (!Array.isArray(content)) return { text: JSON.stringify(content), isChanged: true };
  const parts = (content as readonly Json[]).map(partText);
  return { text: parts.filter((part) => part !== "").join("\n"), isChanged: true };
}

/** What else a part may be, by its type: told by name only, as for files of our own. */
function partText(part: Json): string {
  if (typeof part === "string") return part;
  if (!isJsonObject(part)) return JSON.stringify(part);
  if (typeof part["text"] === "string") return part["text"];
  const type = typeof part["type"] === "string" ? part["type"] : "part";
  const media = /image|audio|video|file/.exec(type)?.[0];
  const name = part["name"] ?? part["filename"];
  const suffix = typeof name === "string" ? `: ${name}` : "";
  return media === undefined ? JSON.stringify(part) : `[${media}${suffix}]`;
}

import { isJsonObject } from "../json.ts";

const nameLength = 80;
// Also what is not seen but reorders or ends a line, and the brackets of the note itself.
const unsafe = /[\s\p{C}\u2028\u2029[\]]+/gu;

/**
 * What stands in for files that a model does not get: `[image: photo.jpg]`, one a line; `audio`,
 * `video` or `file` likewise. A name is shown on one line, without brackets, in 80 code points.
 *
 * @param images `"handed-over"`: the model gets images another way, they need no note.
 */
export function attachmentNotes(attachments: unknown, images: "noted" | "handed-over"): string {
  if (!Array.isArray(attachments)) return "";
  const notes: string[] = [];
  for (const attachment of attachments as readonly unknown[]) {
    if (!isJsonObject(attachment)) continue;
    const kind = kindOf(attachment["type"]);
    if (kind === "image" && images === "handed-over") continue;
    notes.push(`[${kind}: ${nameOf(attachment["name"])}]`);
  }
  return notes.join("\n");
}

function kindOf(type: unknown): string {
  const kind = typeof type === "string" ? /^(image|audio|video)\//i.exec(type)?.[1] : undefined;
  return kind?.toLowerCase() ?? "file";
}

function nameOf(name: unknown): string {
  const text = typeof name === "string" ? name.replace(unsafe, " ").trim() : "";
  const points = Array.from(text);
  if (points.length > nameLength) return `${points.slice(0, nameLength - 1).join("")}…`;
  return text === "" ? "unnamed" : text;
}

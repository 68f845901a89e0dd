import type { Json, JsonObject } from "../core/json.ts";

const endings: Readonly<Record<string, readonly string[]>> = {
  image: ["avif", "bmp", "gif", "heic", "jpeg", "jpg", "png", "svg", "tiff", "webp"],
  audio: ["aac", "flac", "m4a", "mp3", "oga", "ogg", "opus", "wav"],
  video: ["avi", "m4v", "mkv", "mov", "mp4", "webm"],
};

/**
 * The files of a message, which nanobot lists by path or address, as attachments: by name only, since
 * nothing else is known of them. What has no ending is an image, as nanobot takes it.
 *
 * @returns `undefined` when there are none.
 */
export function mediaAttachments(media: Json | undefined): JsonObject[] | undefined {
  if (!Array.isArray(media)) return undefined;
  const files = media.filter((file) => typeof file === "string" && file !== "") as string[];
  return files.length === 0 ? undefined : files.map(attachment);
}

function attachment(file: string): JsonObject {
  const data = /^data:([\w.+-]+\/[\w.+-]+)?/i.exec(file);
  if (data !== null) return { name: "", type: data[1] ?? "image/*" };
  const isAddress = /^[a-z]+:\/\//i.test(file);
  const [path = ""] = isAddress ? file.split(/[?#]/, 1) : [file];
  const name = path.split(/[/\\]/).at(-1) ?? "";
  return { name, type: typeOf(name) };
}

function typeOf(name: string): string {
  const ending = /\.(\w+)$/.exec(name)?.[1]?.toLowerCase();
  if (ending === undefined) return "image/*";
  const kind = Object.keys(endings).find((each) => endings[each]?.includes(ending));
  return kind === undefined ? "application/octet-stream" : `${kind}/*`;
}

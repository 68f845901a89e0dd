/** What a chat can be read as outside: the seed's lines, a text, a page. With its media type and the end of a file's name. */
export const chatFormats = {
  jsonl: { type: "application/jsonl", ending: "jsonl" },
  markdown: { type: "text/markdown; charset=utf-8", ending: "md" },
  html: { type: "text/html; charset=utf-8", ending: "html" },
} as const;

export type ChatFormat = keyof typeof chatFormats;

export const chatFormatNames = Object.keys(chatFormats) as readonly ChatFormat[];

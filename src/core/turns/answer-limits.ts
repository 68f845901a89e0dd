// How much of an answer can be stored.

/**
 * Bytes of JSON, in which a control character takes six. A text, the reasoning before it, a call or a
 * provider's data, and the ids beside them fit into one record of 1 MiB; an answer, with what it
 * replaces, into one batch of 8 MiB and 1,000 records.
 */
export const answerLimits = {
  textBytes: 512 * 1024,
  reasoningBytes: 240 * 1024,
  /** At most; and no more than the text and the reasoning leave of `recordBytes`. */
  dataBytes: 384 * 1024,
  recordBytes: 1_000 * 1024,
  toolBytes: 4 * 1024 * 1024,
  toolCalls: 200,
} as const;

/** The bytes that a value takes as JSON; of a text without its quotes. */
export function jsonBytes(value: object | string): number {
  const bytes = Buffer.byteLength(JSON.stringify(value));
  return typeof value === "string" ? bytes - 2 : bytes;
}

/** As much of a text as takes at most so many bytes of JSON: whole code points from its start. */
export function fitText(text: string, maxBytes: number): string {
  if (text.length <= maxBytes && jsonBytes(text) <= maxBytes) return text;
  let end = 0;
  let bytes = 0;
  for (const point of text) {
    bytes += jsonBytes(point);
    if (bytes > maxBytes) break;
    end += point.length;
  }
  return text.slice(0, end);
}

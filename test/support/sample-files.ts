// Files as people send them, small and valid.
import type { GivenFile } from "../../src/core/chat/attachments.ts";

/** A picture of one red pixel. */
export const png: GivenFile = {
  name: "cat.png",
  type: "image/png",
  bytes: Buffer.from(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==",
    "base64",
  ),
};

export const pdf: GivenFile = {
  name: "plan.pdf",
  type: "application/pdf",
  bytes: Buffer.from("%PDF-1.4\n1 0 obj<</Type/Catalog>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF\n"),
};

export function textFile(name: string, text: string, type = "text/plain"): GivenFile {
  return { name, type, bytes: Buffer.from(text) };
}

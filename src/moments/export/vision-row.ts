import type { PlainMessage } from "./plain-messages.ts";

/** A piece of a message; an image's place, which the row's pictures fill in order. */
export type ContentPart =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "image"; readonly text: null };

export interface StructuredMessage {
  readonly role: PlainMessage["role"];
  readonly content: readonly ContentPart[];
}

/** What the rows with pictures have in common. */
export interface VisionRow {
  readonly id: string;
  readonly prompt: readonly StructuredMessage[];
  readonly completion: readonly StructuredMessage[];
  readonly label: boolean;
}

/** Messages with structured content, and the places of the pictures in the last user's. */
export function withImages(
  messages: readonly PlainMessage[],
  images: number,
): readonly StructuredMessage[] {
  const at = messages.findLastIndex(({ role }) => role === "user");
  const places = Array.from({ length: images }, () => ({ type: "image", text: null }) as const);
  return messages.map(({ role, content }, index) => ({
    role,
    content: [...(index === at ? places : []), { type: "text", text: content } as const],
  }));
}

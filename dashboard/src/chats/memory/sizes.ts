/** The bytes of a text, as the server counts them. */
export function bytesOf(text: string): number {
  return new TextEncoder().encode(text).length;
}

/** Tokens in words. They are estimates. */
export function tokenWords(tokens: number): string {
  return `about ${tokens.toLocaleString("en-GB")} ${tokens === 1 ? "token" : "tokens"}`;
}

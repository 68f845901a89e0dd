/** Two texts that were typed, as one: neither is lost. */
export function joined(first: string, second: string): string {
  return [first, second].filter((text) => text.trim() !== "").join("\n");
}

// The published JavaScript in ASCII alone. One character beyond Latin-1 has V8 keep a whole file at two
// bytes a character, read it more slowly, and with it each function that runs for the first time.

/** The same code, with escapes in the place of all that is not ASCII. */
export function inAscii(code: string): string {
  // After a backslash, or in a raw text, an escape would be another text. No name holds such.
  const unsafe = /\\[^\0-\x7f]|String\.raw`[^`]*[^`\0-\x7f]/;
  if (unsafe.test(code)) throw new Error("a character cannot be escaped");
  return code.replaceAll(/[^\0-\x7f]/g, (unit) => {
    return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
  });
}

/** Except tab and line feed: a terminal acts on them, an HTML parser drops them. */
const control = /(?![\t\n])\p{Cc}/gu;

/** Left open they would reorder what is printed after them. */
const bidi = /[\u202a-\u202e\u2066-\u2069\u200e\u200f\u061c]/g;

/**
 * Text that a file or a terminal shows as it is: line ends become LF, other control characters the
 * picture of themselves (ESC as ␛), lone surrogates U+FFFD. The exact text is in the JSONL export.
 */
export function printable(text: string): string {
  return text
    .toWellFormed()
    .replace(/\r\n?|[\u0085\u2028\u2029]/g, "\n")
    .replace(control, picture);
}

/** The same on one line, within 200 code points, that reorders nothing around it. */
export function printableLine(text: string): string {
  const line = printable(text).replace(/\s+/g, " ").replace(bidi, "").trim();
  return cutText(line, 200);
}

/** Cuts a text to at most so many code points, the `…` of the cut included. */
export function cutText(text: string, most: number): string {
  // Twice as many units hold as many points; more show that something was left out.
  const points = Array.from(text.slice(0, 2 * most + 2));
  return points.length > most ? `${points.slice(0, most - 1).join("")}…` : text;
}

/** JSON that a terminal and a reader of lines show as it is: escapes what JSON itself leaves of control characters. */
export function printableJson(json: string): string {
  return json.replace(/[\u007f-\u009f\u2028\u2029]/g, unicodeEscape);
}

export function unicodeEscape(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

function picture(character: string): string {
  const code = character.charCodeAt(0);
  if (code < 0x20) return String.fromCharCode(0x2400 + code);
  return code === 0x7f ? "\u2421" : "\ufffd";
}

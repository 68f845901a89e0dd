/** Marks around words: each pair is taken away where Markdown would take it away. */
const pairs = [
  /(`+)([^`\n]+)\1/g,
  /(\*{1,3})(?=\S)([^*\n]+)(?<=\S)\1/g,
  /(?<!\w)(_{1,3})(?=\S)([^_\n]+)(?<=\S)\1(?!\w)/g,
  /(~~)(?=\S)([^~\n]+)(?<=\S)\1/g,
] as const;
const links = /!?\[([^[\]\n]*)\]\([^()\s]*(?:\s+(?:"[^"\n]*"|'[^'\n]*'))?\)/g;
const addresses = /<(https?:\/\/[^<>\s]+)>/g;
const fence = /^\s*(?:```|~~~)/;
const begins = /^\s*(?:#{1,6}\s+|(?:>\s?)+|[-*+]\s+(?:\[[ xX]\]\s+)?)/;
/** An excerpt may lack the closing half of a pair. */
const opened = /(?<!\w)\*\*(?=\w)/g;

/** A model's words without the signs of Markdown, for a title or an excerpt. */
export function plainWords(text: string): string {
  return text.split("\n").map(plainLine).join("\n").trim();
}

function plainLine(line: string): string {
  if (fence.test(line) || isRule(line)) return "";
  // Twice: a picture may be inside a link.
  let plain = line.replace(begins, "").replace(links, "$1").replace(links, "$1");
  plain = plain.replace(addresses, "$1");
  if (plain.trimStart().startsWith("|")) plain = plain.replaceAll("|", " ").trim();
  // Twice: one may be inside another.
  for (const pair of [...pairs, ...pairs]) plain = plain.replace(pair, "$2");
  return plain.replace(opened, "");
}

/** Under a table's head, or across the page. */
function isRule(line: string): boolean {
  return line.includes("---") && /^[\s|:-]+$/.test(line);
}

/** With a full stop. The first letter stays: a provider's name keeps its case. */
export function sentence(words: string): string {
  const text = words.trim();
  return /[.!?…]$/.test(text) ? text : `${text}.`;
}

// The Markdown that the generated parts of docs/ are made of.

export type Row = readonly (string | number)[];

export function table(head: readonly string[], rows: readonly Row[]): string {
  const line = (cells: Row) =>
    `| ${cells.map((cell) => String(cell).replace(/`[^`|]*`|[|<]/g, escaped)).join(" | ")} |\n`;
  return line(head) + line(head.map(() => "---")) + rows.map(line).join("");
}

/** A code span shows its characters as they are. */
const escaped = (part: string) => (part.startsWith("`") ? part : `\\${part}`);

export const fenced = (lines: string, language = "jsonl") => `\`\`\`${language}\n${lines}\`\`\`\n`;

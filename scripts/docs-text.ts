// The Markdown that the generated parts of docs/ are made of.

export type Row = readonly (string | number)[];

export function table(head: readonly string[], rows: readonly Row[]): string {
  const line = (cells: Row) =>
    `| ${cells.map((cell) => String(cell).replace(/[|<]/g, (char) => `\\${char}`)).join(" | ")} |\n`;
  return line(head) + line(head.map(() => "---")) + rows.map(line).join("");
}

export const fenced = (lines: string, language = "jsonl") => `\`\`\`${language}\n${lines}\`\`\`\n`;

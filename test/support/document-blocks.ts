// The code blocks of README and docs.
import assert from "node:assert/strict";
import fs from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dirname, "../..");

interface Block {
  readonly file: string;
  readonly line: number;
  readonly language: string;
  readonly text: string;
}

function blocksOf(file: string): Block[] {
  const lines = fs.readFileSync(join(root, file), "utf8").split("\n");
  const found: Block[] = [];
  for (let i = 0; i < lines.length; i++) {
    const language = /^```(\w*)/.exec(lines[i] ?? "")?.[1];
    if (language === undefined) continue;
    const line = i + 1;
    const end = lines.indexOf("```", line);
    assert.ok(end > 0, `${file}:${line}: the block does not end`);
    found.push({ file, line, language, text: lines.slice(line, end).join("\n") });
    i = end;
  }
  return found;
}

export const documents = ["README.md", ...fs.globSync("docs/**/*.md", { cwd: root })].sort();

export const blocks = documents.flatMap(blocksOf);

/** Programs that have a test of their own, by their paths. */
export const examples = new Map(
  fs
    .globSync("examples/**/*.{mts,py}", { cwd: root })
    .map((file) => [file, fs.readFileSync(join(root, file), "utf8")] as const),
);

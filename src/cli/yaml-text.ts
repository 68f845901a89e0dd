import { createRequire } from "node:module";
import type { Document, ErrorCode, Node } from "yaml";
import { printableLine } from "../core/chat/printable.ts";

/** Loaded with the first text that is read: few homes have one. */
const yaml = () => (loaded ??= createRequire(import.meta.url)("yaml") as typeof import("yaml"));
let loaded: typeof import("yaml") | undefined;

export type KeyPath = readonly (string | number)[];

/** What is wrong with a YAML text, and where. */
interface YamlProblem {
  /** From 1. */
  readonly line: number;
  readonly path: KeyPath;
  readonly says: string;
}

type YamlText =
  | {
      /** Plain data: mappings are objects whose keys are their own, `__proto__` among them. */
      readonly value: unknown;
      /** The line of a key or an item, from 1; where it is absent, of what it would stand in. */
      readonly lineOf: (path: KeyPath) => number;
    }
  | { readonly problems: readonly YamlProblem[] };

/** Most uses of anchors: enough for people, too few for a bomb. */
const maxAliasCount = 100;
const maxProblems = 50;
const tooDeep = "is nested too deeply";
/** Plain words for codes of the library whose messages are for programmers. */
const ourWords: Readonly<Partial<Record<ErrorCode, string>>> = {
  RESOURCE_EXHAUSTION: tooDeep,
  MULTIPLE_DOCS: "contains more than one document",
  DUPLICATE_KEY: "contains a key twice",
};

/**
 * Reads one YAML 1.2 document: `yes` and `on` are text. It refuses, beside what is no YAML, other
 * versions, a key that is there twice or is no text, unknown tags, more than 100 aliases, and an alias
 * inside of what it stands for. The caller limits the length of the text. Never throws.
 */
export function readYaml(text: string): YamlText {
  const { LineCounter, parseDocument } = yaml();
  const lines = new LineCounter();
  const lineAt = (offset: number) => lines.linePos(offset).line;
  const document = parseDocument(text, {
    lineCounter: lines,
    stringKeys: true,
    prettyErrors: false,
    logLevel: "error",
  });
  const problems = [...document.errors, ...document.warnings].map(({ pos, code, message }) => {
    return { line: lineAt(pos[0]), path: [], says: ourWords[code] ?? printableLine(message) };
  });
  const { version = "1.2" } = document.directives?.yaml ?? {};
  if (version !== "1.2") problems.push({ line: 1, path: [], says: "must be YAML 1.2" });
  if (problems.length > 0) return { problems: problems.slice(0, maxProblems) };
  try {
    // The library counts from 1.
    const value: unknown = document.toJS({ maxAliasCount: maxAliasCount + 1 });
    JSON.stringify(value); // throws where a value contains itself
    return { value, lineOf: (path) => lineAt(offsetOf(document, path)) };
  } catch (error) {
    return { problems: [{ line: 1, path: [], says: expansionFault(error) }] };
  }
}

/** A key as a person finds it: `events.insult.deltas`, `transcript_triggers[0]`. */
export function keyText(path: KeyPath): string {
  const parts = path.map((key) => {
    if (typeof key === "number") return `[${key}]`;
    return `.${/^[\w-]+$/.test(key) ? key : JSON.stringify(printableLine(key))}`;
  });
  return parts.join("").replace(/^\./, "");
}

function expansionFault(error: unknown): string {
  if (error instanceof RangeError) return tooDeep;
  if (error instanceof TypeError) return "has an alias that refers to something that contains it";
  const { message } = error as Error;
  if (message.startsWith("Unresolved")) return printableLine(message);
  return `has more than ${maxAliasCount} aliases, or aliases that expand to too much`;
}

/** Finds the deepest key or item of a path that is there. */
function offsetOf({ contents }: Document, path: KeyPath): number {
  const { isCollection, isMap } = yaml();
  let node: unknown = contents;
  let offset = (contents as Node | null)?.range?.[0] ?? 0;
  for (const key of path) {
    if (!isCollection(node)) break;
    const pair = isMap(node) && node.items.find((each) => String(each.key) === String(key));
    node = node.get(key, true);
    offset = ((pair ? pair.key : node) as Node | undefined)?.range?.[0] ?? offset;
  }
  return offset;
}

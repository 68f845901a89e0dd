import { createRequire } from "node:module";
import type { Alias, Document, ErrorCode, Node } from "yaml";
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

/** Repetitions by reference: enough for people, too few for a bomb. */
const maxAliasCount = 100;
const maxProblems = 50;
const tooDeep = "is nested too deeply";
/** For what the library says to programmers, by its codes. */
const ourWords: Readonly<Partial<Record<ErrorCode, string>>> = {
  RESOURCE_EXHAUSTION: tooDeep,
  MULTIPLE_DOCS: "contains more than one document",
};
const tooMany = `is one alias too many: at most ${maxAliasCount} are allowed`;

/**
 * Reads one YAML 1.2 document: `yes` and `on` are text. Refused are, beside what is no YAML: other
 * versions, a key that is there twice or is no text, unknown tags, more than 100 aliases, and one
 * that stands in what it stands for. The caller bounds the length of the text. Never throws.
 */
export function readYaml(text: string): YamlText {
  const { LineCounter, parseDocument } = yaml();
  const lines = new LineCounter();
  const lineAt = (offset: number) => lines.linePos(offset).line;
  // The library compares each key of a mapping with every other: `checkNodes` does it in one pass.
  const document = parseDocument(text, {
    lineCounter: lines,
    uniqueKeys: false,
    stringKeys: true,
    prettyErrors: false,
    logLevel: "error",
  });
  const faults = [...document.errors, ...document.warnings].slice(0, maxProblems);
  if (faults.length > 0) {
    const problems = faults.map(({ pos, code, message }) => {
      return { line: lineAt(pos[0]), path: [], says: ourWords[code] ?? printableLine(message) };
    });
    return { problems };
  }
  const problems = checkNodes(document).map(({ offset, path, says }) => ({
    line: lineAt(offset),
    path,
    says,
  }));
  if (problems.length > 0) return { problems };
  try {
    // The library counts from 1.
    const value: unknown = document.toJS({ maxAliasCount: maxAliasCount + 1 });
    return { value, lineOf: (path) => lineAt(offsetOf(document, path)) };
  } catch (error) {
    const says = error instanceof RangeError ? tooDeep : "has aliases that expand to too much";
    return { problems: [{ line: 1, path: [], says }] };
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

interface Fault {
  readonly offset: number;
  readonly path: KeyPath;
  readonly says: string;
}

function checkNodes(document: Document): readonly Fault[] {
  const faults: Fault[] = [];
  const { version = "1.2" } = document.directives?.yaml ?? {};
  if (version !== "1.2") faults.push({ offset: 0, path: [], says: "must be YAML 1.2" });
  const left: Place[] = [{ node: document.contents, path: [] }];
  let aliases = 0;
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    const { node, path } = next;
    if (yaml().isAlias(node)) {
      const says = ++aliases > maxAliasCount ? tooMany : aliasFault(document, node);
      if (says !== undefined) faults.push({ offset: startOf(node) ?? 0, path, says });
    }
    // The last is looked at first: so the first is put there last.
    for (const child of childrenOf(node, path, faults).reverse()) left.push(child);
  }
  return faults.sort((a, b) => a.offset - b.offset).slice(0, maxProblems);
}

interface Place {
  readonly node: unknown;
  readonly path: KeyPath;
}

function childrenOf(node: unknown, path: KeyPath, faults: Fault[]): Place[] {
  if (yaml().isSeq(node))
    return node.items.map((item, index) => ({ node: item, path: [...path, index] }));
  if (!yaml().isMap(node)) return [];
  const known = new Set<string>();
  return node.items.map(({ key, value }) => {
    const name = nameOf(key);
    const at = [...path, name ?? "?"];
    const offset = startOf(key) ?? startOf(node) ?? 0;
    if (name === undefined) faults.push({ offset, path: at, says: "is a key that is not text" });
    else if (known.has(name)) faults.push({ offset, path: at, says: "appears twice" });
    known.add(name ?? "");
    return { node: value, path: at };
  });
}

function aliasFault(document: Document, alias: Alias): string | undefined {
  const target = alias.resolve(document);
  if (target === undefined) return "refers to an anchor that is not defined before it";
  const [start, , end] = target.range ?? [0, 0, 0];
  const at = startOf(alias) ?? 0;
  return start <= at && at < end ? "refers to something that contains it" : undefined;
}

function offsetOf(document: Document, path: KeyPath): number {
  let node: unknown = document.contents;
  let offset = startOf(node) ?? 0;
  for (const key of path) {
    if (yaml().isAlias(node)) node = node.resolve(document);
    const child = childOf(node, key);
    if (child === undefined) break;
    offset = child.offset ?? offset;
    node = child.node;
  }
  return offset;
}

function childOf(node: unknown, key: string | number) {
  if (yaml().isSeq(node)) {
    const item: unknown = node.items[Number(key)];
    return item === undefined ? undefined : { node: item, offset: startOf(item) };
  }
  if (!yaml().isMap(node)) return undefined;
  const pair = node.items.find((each) => nameOf(each.key) === String(key));
  return pair && { node: pair.value, offset: startOf(pair.key) };
}

function nameOf(key: unknown): string | undefined {
  return yaml().isScalar(key) && typeof key.value === "string" ? key.value : undefined;
}

function startOf(node: unknown): number | undefined {
  return (node as Node | null | undefined)?.range?.[0];
}

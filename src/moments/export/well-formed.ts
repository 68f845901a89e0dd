/**
 * The value with every lone surrogate replaced by U+FFFD, in keys too. One of them makes a whole
 * JSONL file unreadable for Python's readers, or changes its column types without a word.
 */
export function wellFormed<T>(value: T): T {
  return copy(value) as T;
}

function copy(value: unknown): unknown {
  if (typeof value === "string") return value.toWellFormed();
  if (Array.isArray(value)) return value.map(copy);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key.toWellFormed(), copy(item)]),
  );
}

import { printableJson, printableLine } from "../core/chat/printable.ts";

/**
 * Rows as columns of equal width, two spaces between them, the last one as long as it is. Every cell
 * is one line without control characters, whatever was stored.
 */
export function table(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [header, ...rows.map((row) => row.map((cell) => printableLine(cell)))];
  const widths = header.map((_, column) =>
    Math.max(...lines.map((line) => [...(line[column] ?? "")].length)),
  );
  const text = lines.map((line) =>
    line
      .map((cell, column) => cell + " ".repeat((widths[column] ?? 0) - [...cell].length))
      .join("  ")
      .trimEnd(),
  );
  return `${text.join("\n")}\n`;
}

/** An ISO 8601 instant as people read it, in a zone: `2026-03-01 14:05`; "" for one that is unknown. */
export function localTime(timestamp: string, timeZone: string): string {
  const at = Date.parse(timestamp);
  if (Number.isNaN(at)) return "";
  // Swedish dates are those of ISO 8601.
  return new Intl.DateTimeFormat("sv-SE", {
    timeZone,
    dateStyle: "short",
    timeStyle: "short",
  }).format(at);
}

/** JSON for scripts: indented, one value, a line break at its end. */
export function json(value: unknown): string {
  return `${printableJson(JSON.stringify(value, null, 2))}\n`;
}

/** `1 message`, `2 messages`. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}

/** Bytes in the largest unit that leaves at least 1: `512 B`, `3.4 GB`. */
export function bytes(count: number): string {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let value = count;
  let unit = 0;
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1000;
    unit++;
  }
  return `${unit === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`;
}

import { printableJson } from "../../core/chat/printable.ts";
import type { OutFile } from "./out-file.ts";
import type { OutFolder } from "./out-folder.ts";

/** Rows as JSON, one a line. The file begins with its first row: an empty one fails its readers. */
export class JsonLines {
  readonly #folder: OutFolder;
  readonly #path: string;
  #file: OutFile | undefined;

  constructor(folder: OutFolder, path: string) {
    this.#folder = folder;
    this.#path = path;
  }

  async add(row: object): Promise<void> {
    this.#file ??= await this.#folder.create(this.#path);
    await this.#file.write(Buffer.from(`${rowText(row)}\n`));
  }

  async finish(): Promise<void> {
    if (this.#file !== undefined) await this.#folder.finish(this.#file);
  }
}

/**
 * The row as JSON. `score` has a decimal point always: where the first rows have whole numbers,
 * readers take the column for integers and fail on the first 0.5.
 */
export function rowText(row: object): string {
  const members = Object.entries(row).map(([key, value]: [string, unknown]) => {
    const isWhole = key === "score" && Number.isInteger(value);
    return `${JSON.stringify(key)}:${JSON.stringify(value)}${isWhole ? ".0" : ""}`;
  });
  return printableJson(`{${members.join(",")}}`);
}

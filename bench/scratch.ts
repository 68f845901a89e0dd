import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";

export interface Scratch {
  readonly path: string;
  remove(): void;
}

/** A directory on the disk that the project lies on: /tmp is often memory. */
export function scratch(): Scratch {
  const path = mkdtempSync(join(process.cwd(), "bench", ".scratch-"));
  // A process that was just killed may still add a file.
  const options = { recursive: true, force: true, maxRetries: 5 };
  return { path, remove: () => rmSync(path, options) };
}

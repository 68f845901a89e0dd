import { writeSync } from "node:fs";

/** Writes a line of output at once: a killed process keeps nothing that it has not written. */
export function say(line: string): void {
  for (;;) {
    try {
      writeSync(1, `${line}\n`);
      return;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EAGAIN") throw error; // the reader is behind
    }
  }
}

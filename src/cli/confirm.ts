import { once } from "node:events";
import { createInterface } from "node:readline/promises";
import type { Io } from "./io.ts";

/**
 * Asks a yes-or-no question. Only for an interactive `io`. No answer at all (the end of the input, or
 * Ctrl-C) is a no.
 *
 * @param standard what Enter alone means.
 */
export async function confirm(io: Io, question: string, standard: boolean): Promise<boolean> {
  const lines = createInterface({ input: io.input, output: io.errors, terminal: true });
  const ended = new AbortController();
  const { signal } = ended;
  const nothing = once(lines, "close", { signal }).then(
    () => "no",
    () => "no",
  );
  lines.on("SIGINT", () => lines.close());
  try {
    const asked = lines.question(`${question} ${standard ? "[Y/n]" : "[y/N]"} `, { signal });
    asked.catch(() => undefined); // let go of when the input ended first
    const answer = (await Promise.race([asked, nothing])).trim().toLowerCase();
    return answer === "" ? standard : answer === "y" || answer === "yes";
  } finally {
    ended.abort();
    lines.close();
  }
}

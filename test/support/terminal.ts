// A program at a terminal, in which a test types.
import { type ChildProcessWithoutNullStreams, spawn, spawnSync } from "node:child_process";
import type { TestContext } from "node:test";
import { Collected } from "./command-line.ts";

/** Why a test that needs these programs is skipped; `false`: they are here. */
export function skipWithout(...names: readonly string[]): string | false {
  const missing = names.find((name) => spawnSync(name, ["--version"]).error !== undefined);
  return missing === undefined ? false : `${missing} is not installed`;
}

/** Needs the program `script` of Linux, which makes a terminal. */
export class Terminal {
  /** What it shows, with what is typed. */
  readonly out = new Collected();
  readonly #child: ChildProcessWithoutNullStreams;

  /** @param command a line for `sh`. It is killed after the test. */
  constructor(
    t: TestContext,
    command: string,
    options: { readonly cwd?: string; readonly env: NodeJS.ProcessEnv },
  ) {
    this.#child = spawn("script", ["-qec", command, "/dev/null"], options);
    this.#child.stdin.on("error", () => undefined); // it may have ended
    this.#child.stdout.pipe(this.out);
    const ended = new Promise((resolve) => this.#child.once("close", resolve));
    t.after(() => {
      this.#child.kill("SIGKILL");
      return ended;
    });
  }

  type(text: string): void {
    this.#child.stdin.write(text);
  }
}

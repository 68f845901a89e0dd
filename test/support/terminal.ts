// A program at a terminal, in which a test types.
import { spawnSync } from "node:child_process";
import type { TestContext } from "node:test";
import { Child } from "./command-line.ts";

/** Why a test that needs these programs is skipped; `false`: they are here. */
export function skipWithout(...names: readonly string[]): string | false {
  const missing = names.find((name) => spawnSync(name, ["--version"]).error !== undefined);
  return missing === undefined ? false : `${missing} is not installed`;
}

/** Needs the program `script` of Linux, which makes a terminal. What it shows has what is typed. */
export class Terminal extends Child {
  /** @param command a line for `sh`. It is killed after the test. */
  constructor(
    t: TestContext,
    command: string,
    options: { readonly cwd?: string; readonly env: NodeJS.ProcessEnv },
  ) {
    super(t, "script", ["-qec", command, "/dev/null"], options);
  }

  type(text: string): void {
    this.child.stdin.write(text);
  }
}

// Processes that are killed while they use the product.
import assert from "node:assert/strict";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { Child } from "./command-line.ts";
import { compileCache } from "./program.ts";

/** The program, which takes the name of a door and its arguments. */
export const killChild = join(import.meta.dirname, "kill-child.ts");

interface Kill {
  /** The process is killed once it has noted this; without it, it kills itself. */
  readonly once?: string | RegExp | undefined;
  readonly delayMs?: number | undefined;
}

/** Uses the product through a door until the process is killed. @returns the lines that it noted. */
export async function killed(
  door: string,
  args: readonly string[],
  { once: noted, delayMs = 0 }: Kill = {},
): Promise<readonly string[]> {
  const env = { ...process.env, NODE_COMPILE_CACHE: compileCache };
  const running = new Child(undefined, process.execPath, [killChild, door, ...args], { env });
  if (noted !== undefined) {
    await running.prints(noted);
    await wait(delayMs);
    running.child.kill("SIGKILL");
  }
  const { out, err } = await running.ended();
  assert.equal(running.child.signalCode, "SIGKILL", err);
  return out.split("\n").slice(0, -1);
}

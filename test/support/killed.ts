// Processes that are killed while they use the product.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { Collected } from "./command-line.ts";
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
  const child = spawn(process.execPath, [killChild, door, ...args], { env });
  const [out, errors] = [new Collected(), new Collected()];
  child.stdout.pipe(out);
  child.stderr.pipe(errors);
  const ended = once(child, "close");
  if (noted !== undefined) {
    await Promise.race([out.has(noted), ended.then(() => assert.fail(errors.text))]);
    await wait(delayMs);
    child.kill("SIGKILL");
  }
  assert.deepEqual(await ended, [null, "SIGKILL"], errors.text);
  return out.text.split("\n").slice(0, -1);
}

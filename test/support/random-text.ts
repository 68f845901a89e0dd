import { randomInt } from "node:crypto";
import type { TestContext } from "node:test";
import { seededRandom } from "../../src/testing/random.ts";

const seed = Number(process.env["THROUGHLINE_SEED"] ?? randomInt(1_000_000));

/** Hexadecimal digits of which no part is like another. The test prints the seed; `THROUGHLINE_SEED` sets it. */
export function randomText(t: Pick<TestContext, "diagnostic">, length: number): string {
  t.diagnostic(`random text: THROUGHLINE_SEED=${seed}`);
  const random = seededRandom(seed);
  const words = Uint32Array.from({ length: Math.ceil(length / 8) }, () => random(2 ** 32));
  return Buffer.from(words.buffer).toString("hex").slice(0, length);
}

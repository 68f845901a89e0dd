import { randomInt } from "node:crypto";
import { seededRandom } from "../../src/testing/random.ts";

const seed = Number(process.env["THROUGHLINE_SEED"] ?? randomInt(1_000_000));
console.log(`random text: THROUGHLINE_SEED=${seed}`);
const random = seededRandom(seed);

/** Hexadecimal digits of which no part is like another: repeated text is short once its parts are stored once. */
export function randomText(length: number): string {
  const words = Uint32Array.from({ length: Math.ceil(length / 8) }, () => random(2 ** 32));
  return Buffer.from(words.buffer).toString("hex").slice(0, length);
}

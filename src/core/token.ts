import { timingSafeEqual } from "node:crypto";
import { misconfigured } from "./options.ts";
import { sha256 } from "./sha256.ts";

const minBits = 256;
const minDistinct = 12;
const placeholders = /undefined|changeme|replace|placeholder|example|password|secret/i;

/**
 * Refuses what cannot be 256 random bits: too short for its alphabet, too few different characters,
 * a word that examples are filled with. It cannot tell whether the rest was really random.
 *
 * @throws ThroughlineError `THROUGHLINE_CONFIGURATION`; the message never holds the token.
 */
export function checkToken(token: unknown): asserts token is string {
  if (typeof token !== "string" || !/^[\w.~+/=-]*$/.test(token)) {
    throw misconfigured("a token is letters, digits and -._~+/= only");
  }
  const bits = token.replace(/=+$/, "").length * Math.log2(alphabetOf(token));
  if (bits < minBits)
    throw misconfigured("a token has at least 256 random bits: 43 letters and digits");
  if (new Set(token).size < minDistinct) throw misconfigured("this token is not random");
  if (placeholders.test(token)) throw misconfigured("this token is a placeholder");
}

/** Tells whether two texts are equal in a time that depends on neither. */
export function sameSecret(given: string, right: string): boolean {
  return timingSafeEqual(sha256(given), sha256(right));
}

function alphabetOf(token: string): number {
  if (/^\d*$/.test(token)) return 10;
  if (/^[\da-f]*$/.test(token) || /^[\dA-F]*$/.test(token)) return 16;
  return token === token.toLowerCase() || token === token.toUpperCase() ? 36 : 64;
}

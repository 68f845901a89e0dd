import { createHash } from "node:crypto";

/**
 * The digests of pictures, taken when they came in, so that a save, which others wait for, need not read
 * them again. Held as long as the picture is, and by nothing else.
 */
const known = new WeakMap<Uint8Array, string>();

/** Takes the SHA-256 of bytes that no longer change: some 50 us for 50 KB. */
export function rememberDigest(bytes: Uint8Array): void {
  known.set(bytes, hashOf("sha256", [bytes]));
}

/** 64 hex digits. Absent for bytes that did not come that way: a redaction made them. */
export function digestOf(bytes: Uint8Array): string | undefined {
  return known.get(bytes);
}

/** The hash of bytes that come in pieces, in hex. */
export function hashOf(algorithm: "md5" | "sha256", pieces: readonly Uint8Array[]): string {
  const hash = createHash(algorithm);
  for (const piece of pieces) hash.update(piece);
  return hash.digest("hex");
}

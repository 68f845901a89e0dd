import { closeSync, openSync, readSync } from "node:fs";

/** Makes an id that nothing else has. Passed in, so that a seed can replay a run. */
export type NewId = () => string;

/** Asked of the system at once: for one id alone, asking costs more than making it. */
const pool = new Uint8Array(4_096);
let used = pool.length;

/** Fills an array of at most 4,096 bytes with unpredictable bytes; none is given out twice. */
export function fillWithRandom(into: Uint8Array): void {
  if (into.length > pool.length) throw new RangeError("too many random bytes at once");
  if (used + into.length > pool.length) {
    fillPool();
    used = 0;
  }
  const end = used + into.length;
  into.set(pool.subarray(used, end));
  pool.fill(0, used, end);
  used = end;
}

/** Reads the system's source itself where there is one: the global `crypto` takes 4 ms to load. */
function fillPool(): void {
  let read = 0;
  try {
    const source = openSync("/dev/urandom", "r");
    try {
      read = readSync(source, pool);
    } finally {
      closeSync(source);
    }
  } catch {
    // Windows has none, and a sandbox may hide it.
  }
  if (read < pool.length) crypto.getRandomValues(pool);
}

const alphabet = "0123456789abcdefghijklmnopqrstuvwxyz";

/** 18 characters of 36 letters: 93 random bits, readable, safe in a path, a URL and a shell. */
export const randomId: NewId = () => {
  const bytes = new Uint8Array(36);
  fillWithRandom(bytes);
  let id = "";
  for (const byte of bytes) {
    // 252 = 7 * 36: bytes past it would make the first letters likelier.
    if (byte < 252 && id.length < 18) id += alphabet[byte % 36];
  }
  return id.length === 18 ? id : randomId();
};

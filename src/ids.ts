import { randomBytes } from "node:crypto";

/** Makes an id that nothing else has. Passed in, so that a seed can replay a run. */
export type NewId = () => string;

const alphabet = "0123456789abcdefghijklmnopqrstuvwxyz";

/** 18 characters of 36 letters: 93 random bits, readable, safe in a path, a URL and a shell. */
export const randomId: NewId = () => {
  const bytes = randomBytes(36);
  let id = "";
  for (const byte of bytes) {
    // 252 = 7 * 36: bytes past it would make the first letters likelier.
    if (byte < 252 && id.length < 18) id += alphabet[byte % 36];
  }
  return id.length === 18 ? id : randomId();
};

import { createHash, createHmac, randomBytes } from "node:crypto";
import type { Clock } from "../core/clock.ts";
import { misconfigured } from "../core/options.ts";
import { sameSecret } from "../core/token.ts";

const accessLimits = {
  /** How long a sign-in code can be used. */
  codeMs: 60_000,
  /** A code that was guessed at so often is void. */
  guesses: 5,
  /** How long a browser stays signed in: 30 days. */
  cookieSeconds: 30 * 24 * 60 * 60,
} as const;

/** Who may come in: clients with the token, and browsers that signed in with a code. */
export class Access {
  readonly #token: string | undefined;
  readonly #clock: Clock;
  #code: { readonly text: string; readonly until: number; guesses: number } | undefined;

  /** @param token `undefined`: everybody who passes the guard may come in. */
  constructor(token: string | undefined, clock: Clock) {
    this.#token = token;
    this.#clock = clock;
  }

  isAllowed(headers: Headers, port: number): boolean {
    if (this.#token === undefined) return true;
    const given = headers.get("authorization") ?? "";
    // Of another scheme it is for a proxy. The scheme's name is without regard to case: RFC 9110, 11.1.
    if (/^bearer /i.test(given)) {
      return sameSecret(given.replace(/^bearer /i, "Bearer "), `Bearer ${this.#token}`);
    }
    const name = cookieName(port);
    for (const pair of (headers.get("cookie") ?? "").split(";")) {
      const [key, value = ""] = pair.trim().split("=", 2);
      if (key === name && this.#isSigned(value)) return true;
    }
    return false;
  }

  /**
   * A code that signs one browser in, once, within 60 s. A new one makes the one before void.
   *
   * @throws ThroughlineError `THROUGHLINE_CONFIGURATION`: without a token there is no sign-in.
   */
  signInCode(): string {
    if (this.#token === undefined) {
      throw misconfigured("this server has no token, so there is no sign-in");
    }
    const text = randomCode();
    this.#code = { text, until: this.#clock.monotonic() + accessLimits.codeMs, guesses: 0 };
    return `${text.slice(0, 5)}-${text.slice(5)}`;
  }

  /** Takes a code, as a person types it. @returns the cookie to set; `undefined`: not that code. */
  signIn(typed: string, port: number, isSecure: boolean): string | undefined {
    const code = this.#code;
    if (code === undefined) return undefined;
    const isOver = this.#clock.monotonic() >= code.until;
    const isRight = sameSecret(typed.toLowerCase().replace(/[\s-]/g, ""), code.text);
    if (isOver || isRight || ++code.guesses >= accessLimits.guesses) this.#code = undefined;
    if (isOver || !isRight) return undefined;
    const until = Math.floor(this.#clock.now() / 1000) + accessLimits.cookieSeconds;
    const value = `${until}.${this.#signature(until)}`;
    const secure = isSecure ? "; Secure" : "";
    const age = `Max-Age=${accessLimits.cookieSeconds}`;
    return `${cookieName(port)}=${value}; Path=/; ${age}; HttpOnly; SameSite=Strict${secure}`;
  }

  #isSigned(value: string): boolean {
    const [until = "", signature = ""] = value.split(".", 2);
    if (!/^\d{1,12}$/.test(until) || !sameSecret(signature, this.#signature(Number(until)))) {
      return false;
    }
    return this.#clock.now() < Number(until) * 1000;
  }

  /** Made from the token, so that another token signs every browser out. */
  #signature(until: number): string {
    const key = createHash("sha256").update(`throughline cookie ${this.#token}`).digest();
    return createHmac("sha256", key).update(String(until)).digest("base64url");
  }
}

/** Browsers keep one jar for all ports of a host: two companions must not share a name. */
function cookieName(port: number): string {
  return `throughline_${port}`;
}

/** No `0`, `1`, `l`, `o`: nothing that is easily mistaken. 32 letters, so 5 bits of each byte. */
const alphabet = "23456789abcdefghijkmnpqrstuvwxyz";

function randomCode(): string {
  return Array.from(randomBytes(10), (byte) => alphabet[byte & 31]).join("");
}

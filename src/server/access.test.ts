import assert from "node:assert/strict";
import { test } from "node:test";
import { HeldClock } from "../../test/support/held-clock.ts";
import { Access } from "./access.ts";

const token = "Zk3vQ9xT1mB7wYc5RdH0sLgE8uNpA2jFoIyXqVtMaeK";
const port = 7423;

function openAccess() {
  const clock = new HeldClock();
  return { clock, access: new Access(token, clock) };
}

interface Guessed {
  readonly clock: HeldClock;
  readonly guess: (times: number) => void;
}

const allows = (access: Access, headers: Record<string, string>, at = port) =>
  access.isAllowed(new Headers(headers), at);

/** What a browser sends back of a cookie that was set. */
const sent = (cookie: string | undefined) => ({ cookie: String(cookie).split(";", 1)[0]! });

for (const [authorization, isRight] of [
  [`Bearer ${token}`, true],
  [`bearer ${token}`, true],
  [`BEARER ${token}`, true],
  [`Bearer  ${token}`, false],
  [`Bearer ${token}x`, false],
  [`Bearer ${token.slice(1)}`, false],
  [`Bearer ${token.toLowerCase()}`, false],
  [`Basic ${token}`, false],
  [token, false],
  ["Bearer ", false],
  ["", false],
  [`Bearer ${token}, Bearer ${token}`, false],
] as const) {
  test(`"${authorization.replace(token, "<token>")}" is ${isRight ? "let in" : "turned away"}`, () => {
    assert.equal(allows(openAccess().access, { authorization }), isRight);
  });
}

test("a token is nowhere but in its header", () => {
  const { access } = openAccess();
  assert.ok(!allows(access, {}));
  assert.ok(!allows(access, { cookie: `throughline_${port}=${token}` }));
  assert.ok(!allows(access, { "x-token": token }));
});

test("a browser that signed in is let in with the password of a proxy, and not with a wrong token", () => {
  const { access } = openAccess();
  const signed = sent(access.signIn(access.signInCode(), port, false));
  for (const [authorization, isRight] of [
    ["Basic YW5uOnNlY3JldA==", true],
    [`Bearer ${token}x`, false],
  ] as const) {
    assert.equal(allows(access, { ...signed, authorization }), isRight, authorization);
  }
});

test("the cookie is for this server's own pages alone", () => {
  const { access } = openAccess();
  const cookie = access.signIn(access.signInCode(), port, false);
  assert.match(
    String(cookie),
    /^throughline_7423=[^;]+; Path=\/; Max-Age=2592000; HttpOnly; SameSite=Strict$/,
  );
  assert.match(String(access.signIn(access.signInCode(), port, true)), /; Secure$/);
});

for (const [what, before, isRight] of [
  ["that is 59,999 ms old is taken", ({ clock }) => clock.pass(59_999), true],
  ["that is 60,000 ms old is refused", ({ clock }) => clock.pass(60_000), false],
  ["is taken after 4 wrong guesses", ({ guess }) => guess(4), true],
  ["is void after 5 wrong guesses", ({ guess }) => guess(5), false],
] as const satisfies readonly (readonly [string, (of: Guessed) => void, boolean])[]) {
  test(`a code ${what}`, () => {
    const { access, clock } = openAccess();
    const code = access.signInCode();
    const guess = (times: number) => {
      for (let n = 0; n < times; n++) access.signIn("wrong", port, false);
    };
    before({ clock, guess });
    assert.equal(access.signIn(code, port, false) !== undefined, isRight);
  });
}

test("a new code makes the one before void, and without a code nothing signs in", () => {
  const { access } = openAccess();
  assert.equal(access.signIn("", port, false), undefined);
  const first = access.signInCode();
  access.signInCode();
  assert.equal(access.signIn(first, port, false), undefined);
});

test("a cookie is good for 30 days, and not one second longer than it says", () => {
  const { access, clock } = openAccess();
  const headers = sent(access.signIn(access.signInCode(), port, false));
  clock.pass(30 * 24 * 3_600_000 - 1);
  assert.ok(allows(access, headers));
  clock.pass(1);
  assert.ok(!allows(access, headers));
  const [name, until] = headers.cookie.split(/[=.]/);
  const signature = headers.cookie.split(".")[1];
  assert.ok(!allows(access, { cookie: `${name}=${Number(until) + 60}.${signature}` }));
});

test("a cookie survives a restart, and not another token", () => {
  const { access, clock } = openAccess();
  const headers = sent(access.signIn(access.signInCode(), port, false));
  assert.ok(allows(new Access(token, clock), { cookie: `a=b; ${headers.cookie}; c=d` }));
  assert.ok(!allows(new Access(`${token}x`, clock), headers));
});

test("a cookie of another port, or a forged one, is none", () => {
  const { access } = openAccess();
  const headers = sent(access.signIn(access.signInCode(), port, false));
  assert.ok(!allows(access, headers, 7424));
  for (const value of ["", "true", "9999999999.", "9999999999.AAAA", ".", "NaN.x"]) {
    assert.ok(!allows(access, { cookie: `throughline_${port}=${value}` }), value);
  }
});

test("without a token there is no code", () => {
  const code = "THROUGHLINE_CONFIGURATION";
  assert.throws(() => new Access(undefined, new HeldClock()).signInCode(), { code });
});

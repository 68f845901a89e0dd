import assert from "node:assert/strict";
import { test } from "node:test";
import { isThroughlineError } from "../core/errors.ts";
import { allowedHosts, checkHostName, isLoopback, refusalOf } from "./guard.ts";

const hosts = allowedHosts({ host: "127.0.0.1", port: 7423 }, ["nova.example", "nova.local:8443"]);

function refusal(host: string | undefined, more: Partial<Parameters<typeof refusalOf>[0]> = {}) {
  const url = new URL(`http://${host ?? "127.0.0.1:7423"}/api/chats`);
  const none = { origin: undefined, site: undefined, mode: undefined, dest: undefined };
  return refusalOf({ ...none, host, url, target: undefined, readsPage: false, ...more }, hosts);
}

for (const [host, isAllowed] of [
  ["127.0.0.1:7423", true],
  ["localhost:7423", true],
  ["[::1]:7423", true],
  ["nova.example", true],
  ["nova.example:7423", true],
  ["LOCALHOST:7423", true],
  ["Nova.Example", true],
  ["nova.local:8443", true],
  ["nova.local:7423", false],
  ["nova.local", false],
  ["127.0.0.1", false],
  ["127.0.0.1:7424", false],
  ["localhost", false],
  ["evil.example:7423", false],
  ["EVIL.example:7423", false],
  ["a.nova.example", false],
  ["127.0.0.2:7423", false],
  [undefined, false],
] as const) {
  test(`the host ${host} is ${isAllowed ? "let in" : "turned away"}`, () => {
    assert.equal(refusal(host) === undefined, isAllowed);
  });
}

for (const [host, origin, isAllowed] of [
  ["127.0.0.1:7423", undefined, true],
  ["127.0.0.1:7423", "http://127.0.0.1:7423", true],
  ["127.0.0.1:7423", "https://127.0.0.1:7423", false],
  ["127.0.0.1:7423", "http://127.0.0.1", false],
  ["127.0.0.1:7423", "http://127.0.0.1:3000", false],
  ["127.0.0.1:7423", "http://localhost:7423", false],
  ["127.0.0.1:7423", "http://evil.example", false],
  ["127.0.0.1:7423", "http://127.0.0.1:7423, http://evil.example", false],
  ["127.0.0.1:7423", "null", false],
  ["127.0.0.1:7423", "", false],
  ["nova.example", "https://nova.example", true],
  ["nova.example", "http://nova.example", true],
  ["nova.example", "https://nova.example:7423", false],
] as const) {
  test(`the origin ${origin} at ${host} is ${isAllowed ? "let in" : "turned away"}`, () => {
    const more = origin === undefined ? {} : { origin };
    assert.equal(refusal(host, more) === undefined, isAllowed);
  });
}

for (const [site, isAllowed] of [
  ["same-origin", true],
  ["none", true],
  ["same-site", false],
  ["cross-site", false],
  ["", false],
  ["same-origin, cross-site", false],
] as const) {
  test(`Sec-Fetch-Site: ${site} is ${isAllowed ? "let in" : "turned away"}`, () => {
    assert.equal(refusal("127.0.0.1:7423", { site }) === undefined, isAllowed);
  });
}

for (const [mode, dest, readsPage, isAllowed] of [
  ["navigate", "document", true, true],
  ["navigate", "document", false, false],
  ["navigate", "iframe", true, false],
  ["navigate", "frame", true, false],
  ["navigate", "object", true, false],
  ["navigate", "embed", true, false],
  ["navigate", undefined, true, false],
  ["no-cors", "document", true, false],
  ["no-cors", "script", true, false],
  ["cors", "empty", true, false],
  [undefined, undefined, true, false],
] as const) {
  const what = `Sec-Fetch-Mode ${mode} and -Dest ${dest}, ${readsPage ? "of" : "not of"} the page`;
  test(`from another site, ${what}, is ${isAllowed ? "let in" : "turned away"}`, () => {
    for (const site of ["cross-site", "same-site"]) {
      const refused = refusal("127.0.0.1:7423", { site, mode, dest, readsPage });
      assert.equal(refused === undefined, isAllowed, site);
    }
  });
}

test("a link opens the page neither under another host name nor for another origin", () => {
  const link = { site: "cross-site", mode: "navigate", dest: "document", readsPage: true };
  assert.notEqual(refusal("evil.example:7423", link), undefined);
  assert.notEqual(refusal("127.0.0.1:7423", { ...link, origin: "http://evil.example" }), undefined);
});

test("a target that is not a path is turned away, also one that names this server", () => {
  for (const target of ["http://127.0.0.1:7423/", "*", "127.0.0.1:7423"]) {
    assert.notEqual(refusal("127.0.0.1:7423", { target }), undefined);
  }
  assert.equal(refusal("127.0.0.1:7423", { target: "/" }), undefined);
});

test("a host header that is not the URL's host is turned away", () => {
  const url = new URL("http://evil.example:7423/");
  assert.notEqual(refusal("127.0.0.1:7423", { url }), undefined);
});

test("on http's own port the host has no port", () => {
  const all = [...allowedHosts({ host: "::1", port: 80 }, []).keys()];
  assert.deepEqual(all, ["127.0.0.1", "localhost", "[::1]"]);
});

test("an address of the network is a host, and every address is none", () => {
  assert.ok(allowedHosts({ host: "192.168.1.5", port: 1 }, []).has("192.168.1.5:1"));
  assert.ok(allowedHosts({ host: "fd00::1", port: 1 }, []).has("[fd00::1]:1"));
  assert.equal(allowedHosts({ host: "0.0.0.0", port: 1 }, []).size, 3);
  assert.equal(allowedHosts({ host: "::", port: 1 }, []).size, 3);
});

for (const [name, isRight] of [
  ["nova.example", true],
  ["nova.example:8443", true],
  ["192.168.1.5:80", true],
  ["[fd00::1]:7423", true],
  ["", false],
  ["*", false],
  ["*.example", false],
  ["Nova.example", false],
  ["nova.example:", false],
  ["nova.example:99999", false],
  ["http://nova.example", false],
  ["nova.example/path", false],
  ["-nova", false],
] as const) {
  test(`${JSON.stringify(name)} ${isRight ? "is" : "is not"} a host name`, () => {
    const check = () => checkHostName(name);
    if (isRight) check();
    else assert.throws(check, (e) => isThroughlineError(e, "THROUGHLINE_CONFIGURATION"));
  });
}

for (const [host, isRight] of [
  ["127.0.0.1", true],
  ["127.1.2.3", true],
  ["::1", true],
  ["localhost", true],
  ["0.0.0.0", false],
  ["::", false],
  ["127.0.0.1.example", false],
  ["localhost.example", false],
  ["192.168.1.5", false],
  ["", false],
] as const) {
  test(`${JSON.stringify(host)} ${isRight ? "reaches only" : "may reach more than"} this machine`, () => {
    assert.equal(isLoopback(host), isRight);
  });
}

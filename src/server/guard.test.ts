import assert from "node:assert/strict";
import { test } from "node:test";
import { allowedHosts, checkHostName, isLoopback, refusalOf } from "./guard.ts";

const hosts = allowedHosts({ host: "127.0.0.1", port: 7423 }, ["nova.example", "nova.local:8443"]);

function refusal(host: string | undefined, more: Partial<Parameters<typeof refusalOf>[0]> = {}) {
  const url = new URL(`http://${host ?? "127.0.0.1:7423"}/api/chats`);
  const none = { origin: undefined, site: undefined, mode: undefined, dest: undefined };
  return refusalOf({ ...none, host, url, target: undefined, readsPage: false, ...more }, hosts);
}

const own = "127.0.0.1:7423 localhost:7423 [::1]:7423 LOCALHOST:7423";
const named = "nova.example nova.example:7423 Nova.Example nova.local:8443";
for (const host of `${own} ${named}`.split(" ")) {
  test(`the host ${host} is let in`, () => assert.equal(refusal(host), undefined));
}
const noPort = "nova.local 127.0.0.1 localhost";
const others = "nova.local:7423 127.0.0.1:7424 evil.example:7423 EVIL.example:7423 a.nova.example";
for (const host of [undefined, ...`${noPort} ${others} 127.0.0.2:7423`.split(" ")]) {
  test(`the host ${host} is turned away`, () => assert.notEqual(refusal(host), undefined));
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

test("a host name is one in lower case, with or without a port", () => {
  for (const name of "nova.example nova.example:8443 192.168.1.5:80 [fd00::1]:7423".split(" ")) {
    checkHostName(name);
  }
  const wrong = "* *.example Nova.example nova.example: nova.example:99999 -nova";
  for (const name of ["", "http://nova.example", "nova.example/path", ...wrong.split(" ")]) {
    assert.throws(() => checkHostName(name), { code: "THROUGHLINE_CONFIGURATION" }, name);
  }
});

test("only loopback reaches only this machine", () => {
  for (const host of "127.0.0.1 127.1.2.3 ::1 localhost".split(" ")) assert.ok(isLoopback(host));
  const more = "0.0.0.0 :: 127.0.0.1.example localhost.example 192.168.1.5";
  for (const host of ["", ...more.split(" ")]) assert.ok(!isLoopback(host), host);
});

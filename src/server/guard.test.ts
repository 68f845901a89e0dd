import assert from "node:assert/strict";
import { test } from "node:test";
import { allowedHosts, checkHostName, isLoopback, refusalOf } from "./guard.ts";

const hosts = allowedHosts({ host: "127.0.0.1", port: 7423 }, ["nova.example", "nova.local:8443"]);

function refusal(host: string | undefined, more: Partial<Parameters<typeof refusalOf>[0]> = {}) {
  const url = new URL(`http://${host ?? "127.0.0.1:7423"}/api/chats`);
  const none = { origin: undefined, site: undefined, mode: undefined, dest: undefined };
  return refusalOf({ ...none, host, url, target: undefined, readsPage: false, ...more }, hosts);
}

const here = "127.0.0.1:7423";
type Row = readonly [
  host: string | undefined,
  more: Parameters<typeof refusal>[1],
  isLetIn: boolean,
];
const link = { mode: "navigate", dest: "document", readsPage: true };
/** Beside those that test/server-sockets.test.ts sends over the wire. */
const rows: readonly Row[] = [
  ...[here, "localhost:7423", "[::1]:7423", "LOCALHOST:7423"].map((host): Row => [host, {}, true]),
  ...["nova.example", "nova.example:7423", "Nova.Example", "nova.local:8443"].map(
    (host): Row => [host, {}, true],
  ),
  ...[undefined, "nova.local", "nova.local:7423", "a.nova.example"].map(
    (host): Row => [host, {}, false],
  ),
  [here, { origin: "http://127.0.0.1:7423" }, true],
  [here, { origin: "https://127.0.0.1:7423" }, false],
  [here, { origin: "http://127.0.0.1" }, false],
  [here, { origin: "http://localhost:7423" }, false],
  [here, { origin: "" }, false],
  ["nova.example", { origin: "https://nova.example" }, true],
  ["nova.example", { origin: "http://nova.example" }, true],
  ["nova.example", { origin: "https://nova.example:7423" }, false],
  [here, { site: "same-origin" }, true],
  [here, { site: "none" }, true],
  [here, { site: "" }, false],
  [here, { site: "same-origin, cross-site" }, false],
  ...["cross-site", "same-site"].flatMap((site): Row[] => [
    [here, { site, ...link }, true],
    [here, { site, ...link, readsPage: false }, false],
    ...["iframe", "frame", "object", "embed", undefined].map(
      (dest): Row => [here, { site, ...link, dest }, false],
    ),
    [here, { site, ...link, mode: "no-cors" }, false],
    [here, { site, ...link, mode: undefined, dest: undefined }, false],
  ]),
  ["evil.example:7423", { site: "cross-site", ...link }, false],
  [here, { site: "cross-site", ...link, origin: "http://evil.example" }, false],
  [here, { target: "127.0.0.1:7423" }, false],
  [here, { target: "/" }, true],
  [here, { url: new URL("http://evil.example:7423/") }, false],
];
test("a request is let in or turned away by its host, its origin, its site and its target", () => {
  for (const [host, more, isLetIn] of rows) {
    const says = `${host} ${JSON.stringify(more)}`;
    assert.equal(refusal(host, more) === undefined, isLetIn, says);
  }
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

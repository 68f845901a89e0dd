import assert from "node:assert/strict";
import { test } from "node:test";
import { inspect } from "node:util";
import { parseLocation, parsePostgresUrl } from "./store-location.ts";

const secret = "s3cr3t";
const rows: readonly [url: string, says: string, given: string][] = [
  [
    "postgres://me@db:5433/chats?companion=nova",
    "postgres://me@db:5433/chats?companion=nova",
    "postgres://me@db:5433/chats",
  ],
  [
    `postgresql://me:${secret}@db/chats?sslmode=verify-full`,
    "postgres://me@db/chats?companion=default",
    `postgresql://me:${secret}@db/chats?sslmode=verify-full`,
  ],
  [
    `postgres://db/chats?user=me&password=${secret}&companion=a%20b&connections=4`,
    "postgres://db/chats?companion=a%20b",
    `postgres://db/chats?user=me&password=${secret}`,
  ],
  [
    "postgres:///chats?host=/var/run/postgresql",
    "postgres:///chats?companion=default",
    "postgres:///chats?host=%2Fvar%2Frun%2Fpostgresql",
  ],
];
for (const [url, says, given] of rows) {
  test(`${url} is ${says}, to people and to the client`, () => {
    const location = parsePostgresUrl(url, "--store");
    assert.equal(location.says, says);
    assert.equal(location.connectionString(), given);
  });
}

test("printing a location in any way prints no password", () => {
  const location = parsePostgresUrl(`postgres://me:${secret}@db/x?password=${secret}`, "--store");
  const printed = [inspect(location, { depth: 9, showHidden: true }), JSON.stringify(location)];
  for (const text of printed) assert.doesNotMatch(text, new RegExp(secret));
});

test("a parameter that cannot be used is refused, and the URL is not repeated", () => {
  for (const [parameter, wrong] of [
    ["companion=", /companion must be a name of 1 to 200 bytes/],
    [`companion=${"x".repeat(201)}`, /companion must be a name of 1 to 200 bytes/],
    ["companion=a&companion=b", /contains companion more than once/],
    ["connections=1", /connections must be a whole number from 2 to 1000/],
    ["connections=many", /connections must be a whole number from 2 to 1000/],
    ["durability=none", /durability must be power-cut or process/],
    ["host=10.0.0.1,10.0.0.2", /must name only one host/],
    [`SSLMODE=${secret}`, /has an unknown parameter: SSLMODE$/],
    [`comapnion=${secret}`, /has an unknown parameter: comapnion$/],
    [`dbname=${secret}`, /has an unknown parameter: dbname$/],
    [`password=a&${secret}`, /has an unknown parameter$/],
    [`${secret}@db/x=`, /has an unknown parameter$/],
    ["sslmode=", /sslmode must be disable, allow, .* verify-full or no-verify$/],
    [`sslmode=${secret}`, /sslmode must be disable, allow, .* verify-full or no-verify$/],
    [`sslmode=${secret}&sslmode=disable`, /sslmode must be disable, allow, /],
  ] as const) {
    const refused = (error: Error) => wrong.test(error.message) && !error.message.includes(secret);
    const url = `postgres://me:${secret}@db/x?${parameter}`;
    assert.throws(() => parsePostgresUrl(url, "--store"), refused, parameter);
  }
  const several = { message: "--store must name only one host" };
  assert.throws(() => parsePostgresUrl("postgres://10.0.0.1,10.0.0.2/x", "--store"), several);
});

test("the parameters that a provider's URL may have are given to the client as they are", () => {
  const parameters =
    "sslmode=verify-full&sslrootcert=%2Fca.pem&uselibpqcompat=true&channel_binding=require" +
    "&target_session_attrs=read-write&connect_timeout=10&options=-c+a%3Db";
  const location = parsePostgresUrl(`postgres://db/x?companion=a&${parameters}`, "--store");
  assert.equal(location.connectionString(), `postgres://db/x?${parameters}`);
});

test("a host is of this machine or over a network", () => {
  for (const [url, isLocal] of [
    ["postgres://me@localhost/x", true],
    ["postgres://me@127.0.0.1/x", true],
    ["postgres://me@[::1]/x", true],
    ["postgres:///x?host=/tmp", true],
    ["postgres://db.example/x", false],
    ["postgres://127.example/x", false],
  ] as const) {
    assert.equal(parsePostgresUrl(url, "--store").isLocal, isLocal, url);
  }
});

test("a move takes a URL or a directory, and no other URL", () => {
  assert.equal(parseLocation("postgres://db/x", "--to").kind, "postgres");
  assert.equal(parseLocation("./home", "--to").kind, "files");
  const code = "THROUGHLINE_CONFIGURATION";
  assert.throws(
    () => parseLocation(`mysql://me:${secret}@db/x`, "--to"),
    (error: Error) => {
      assert.doesNotMatch(error.message, new RegExp(secret));
      return "code" in error && error.code === code;
    },
  );
});

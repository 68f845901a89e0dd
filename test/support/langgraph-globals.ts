// LangGraph's validation suite is written for another test runner: what it uses of that one, on node:test.
import { after, afterEach, before, beforeEach, describe, it } from "node:test";
import { format } from "node:util";
import { expect } from "expect";

type Body = (...row: unknown[]) => unknown;
type Define = (name: string, body: Body, timeout?: number) => unknown;

/** Defines one for each row; the title may name values of the row as `%s` or `$key`. */
const forEach = (define: Define) => (rows: readonly unknown[]) => (title: string, body: Body) => {
  for (const [index, row] of rows.entries()) {
    const values: readonly unknown[] = Array.isArray(row) ? row : [row];
    const named = title.replace(/\$(\w+)/g, (_, key: string) => String(Object(row)[key]));
    const used = values.slice(0, title.match(/%[sdjo]/g)?.length ?? 0);
    define(`${format(named, ...used)} #${index + 1}`, () => body(...values));
  }
};

const suite: Define = (name, body) => describe(name, () => void body());
const spec: Define = (name, body, timeout = 30_000) =>
  it(name, { timeout }, async () => void (await body()));
const hook = (define: typeof before) => (body: () => unknown) =>
  define(async () => void (await body()));

Object.assign(globalThis, {
  describe: Object.assign(suite, { each: forEach(suite), skip: describe.skip }),
  it: Object.assign(spec, { each: forEach(spec), skip: (name: string) => it.skip(name) }),
  beforeAll: hook(before),
  afterAll: hook(after),
  beforeEach: hook(beforeEach),
  afterEach: hook(afterEach),
  expect: Object.assign(expect.bind(undefined), expect, { soft: expect }),
});

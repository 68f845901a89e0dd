// The tables of promises and of what the seeds are called here name tests that exist.
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { test } from "node:test";

interface Row {
  readonly line: string;
  /** The file that the head of the table names for all of its rows. */
  readonly file: string | undefined;
}

function rowsOf(path: string): readonly Row[] {
  const lines = readFileSync(path, "utf8").split("\n");
  let file: string | undefined;
  return lines.flatMap((line, i) => {
    if (!line.startsWith("|")) {
      file = undefined;
      return [];
    }
    if (!lines[i - 1]?.startsWith("|")) file = /, in `([^`]+\.test\.ts)` \|$/.exec(line)?.[1];
    return /^\|( ---)? /.test(line) && !line.startsWith("| ---") ? [{ line, file }] : [];
  });
}

const pathsIn = (line: string) =>
  [...line.matchAll(/`((?:src|test|dashboard|scripts|docs|api|examples)\/[^`\s:]*)`/g)].map(
    ([, path = ""]) => path,
  );

for (const page of ["docs/internals/proofs.md", "docs/internals/lineage.md"]) {
  test(`each row of ${page} names files that exist`, () => {
    const rows = rowsOf(page);
    assert.ok(rows.length > 50, `${rows.length} rows`);
    const missing = rows.flatMap(({ line }) => pathsIn(line)).filter((path) => !existsSync(path));
    assert.deepEqual(missing, []);
  });
}

test("each promise has a proof", () => {
  const [, ...rows] = rowsOf("docs/internals/proofs.md");
  const without = rows.filter(({ line }) => pathsIn(line.split(" | ").at(-1) ?? "").length === 0);
  assert.deepEqual(without, []);
});

/** Where "…" stands, a name differs from row to row of a table of tests. */
test("each test of a seed is a test here, by its name", () => {
  const rows = rowsOf("docs/internals/lineage.md").filter(({ file }) => file !== undefined);
  const missing = rows.slice(1).flatMap(({ line, file = "" }) => {
    const [, , said = ""] = line.split("|").map((cell) => cell.trim());
    const [, name = "", own = file] = /^(.*?)(?: \(`(.*)`\))?$/.exec(said) ?? [];
    const tests = readFileSync(own, "utf8")
      .split(/^ *test\(/m)
      .slice(1);
    const parts = name.split("…").map((part) => part.trim());
    const isThere = tests.some((each) =>
      parts.every((part) => each.split("\n")[0]?.includes(part)),
    );
    return isThere ? [] : [`${own}: ${name}`];
  });
  assert.ok(rows.length > 10);
  assert.deepEqual(missing, []);
});

test("each sentence of a seed has a route that is there, a call, a test, or a reason", () => {
  const { paths } = JSON.parse(readFileSync("api/openapi.json", "utf8")) as {
    readonly paths: Readonly<Record<string, object>>;
  };
  const known = new Set(
    Object.entries(paths).flatMap(([path, operations]) =>
      Object.keys(operations).map((method) => `${method.toUpperCase()} ${path}`),
    ),
  );
  const tables = readFileSync("docs/internals/lineage.md", "utf8").split(
    /\n### (?:Each|Every) sentence of /,
  );
  const rows = tables
    .slice(1)
    .flatMap((table) => table.split("\n## ", 1)[0]?.match(/^\| (?!---).*\|$/gm) ?? []);
  const wrong = rows.filter((row) => {
    const [, says = "", http = "", , why = ""] = row.split("|").map((cell) => cell.trim());
    const named = http.matchAll(/`((?:GET|POST|PUT|DELETE) \/[^`?]*)/g);
    const routes = Array.from(named, ([, route = ""]) => route);
    return says === "" || why === "" || routes.some((route) => !known.has(route));
  });
  assert.deepEqual(wrong, []);
  assert.ok(rows.length > 60, `${rows.length} rows`);
});

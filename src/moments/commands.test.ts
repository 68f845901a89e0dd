import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { runCli, temporaryDirectory } from "../../test/support/command-line.ts";
import { openThroughline } from "../core/throughline.ts";

const texts = [
  ["2026-02-19", "2026-02-19T00:00:00.000Z"],
  ["2024-02-29", "2024-02-29T00:00:00.000Z"],
  ["2026-02-19T15:30Z", "2026-02-19T15:30:00.000Z"],
  ["2026-02-19T15:30:10.5+02:00", "2026-02-19T13:30:10.500Z"],
  ["2026-02-19T23:30-02:00", "2026-02-20T01:30:00.000Z"],
  ["2026-02-19T15:30", new Date(2026, 1, 19, 15, 30).toISOString()],
  ["2026-02-19 15:30:10", new Date(2026, 1, 19, 15, 30, 10).toISOString()],
  ["2026-02-30", undefined],
  ["2026-02-29T10:00Z", undefined],
  ["2026-04-31 10:00", undefined],
  ["2026-13-01", undefined],
  ["2026-02-19T25:00", undefined],
  ["2026-11-23 (x)", undefined],
  ["2026-11-23x", undefined],
  ["2026-11-23 10:00 PM", undefined],
  ["soon", undefined],
  ["", undefined],
] as const;
for (const [n, [text, wanted]] of texts.entries()) {
  const option = n % 2 === 0 ? "--since" : "--until";
  test(`feedback export ${option} ${JSON.stringify(text)} is ${wanted ?? "refused"}`, async (t) => {
    const directory = temporaryDirectory(t);
    const home = join(directory, "home");
    await (await openThroughline({ home })).close();
    const args = ["feedback", "export", "--format", "kto", "--out", join(directory, "data")];
    const { code, out, err } = await runCli([...args, "--json", option, text], { home });
    if (wanted === undefined) {
      assert.equal(code, 2);
      assert.match(err, /It must be a date such as 2026-02-19, or a date with a time\./);
    } else {
      assert.equal(code, 0, err);
      assert.equal(JSON.parse(out).filters[option.slice(2)], wanted);
    }
  });
}

import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { runCli, temporaryDirectory } from "../../../test/command-line.ts";

const password = "s3cr3t";
const says = "postgres://me@127.0.0.1:1/x?companion=default cannot be reached (ECONNREFUSED)";

for (const flags of [[], ["--json"]]) {
  test(`doctor ${flags.join("")} ends with 1 when the database cannot be reached, and repeats no password`, async (t) => {
    const home = join(temporaryDirectory(t), "home");
    const store = `postgres://me:${password}@127.0.0.1:1/x`;
    const { code, out, err } = await runCli(["doctor", "--store", store, ...flags], { home });
    assert.deepEqual([code, err], [1, ""]);
    assert.ok(!out.includes(password));
    if (flags.length === 0) {
      assert.ok(out.includes(`\nFAILED   ${says}\n`), out);
      assert.match(out, /\n\nThe store could not be looked at: .* is not known\.\n$/);
    } else {
      const { damaged, failed, checks } = JSON.parse(out);
      assert.deepEqual({ damaged, failed }, { damaged: false, failed: true });
      const check = checks.find(({ id }: { id: string }) => id === "store");
      assert.deepEqual(check, { id: "store", status: "failed", says });
    }
  });
}

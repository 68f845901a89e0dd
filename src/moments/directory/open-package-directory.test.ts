// On the disk of this machine.
import assert from "node:assert/strict";
import fs from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { momentOf } from "../../../test/support/package-workload.ts";
import { isThroughlineError } from "../../core/errors.ts";
import { openPackageDirectory } from "./open-package-directory.ts";

const root = fs.mkdtempSync(join(tmpdir(), "packages-"));
after(() => fs.rmSync(root, { recursive: true }));
let directories = 0;
const freshPath = () => join(root, `feedback-${directories++}`);

test("a directory has one writer at a time; the next one comes in when it is closed", async () => {
  const path = freshPath();
  const { close } = await openPackageDirectory({ path });
  await assert.rejects(openPackageDirectory({ path }), (error) =>
    isThroughlineError(error, "THROUGHLINE_LOCKED"),
  );
  await close();
  await (await openPackageDirectory({ path })).close();
});

test("what cannot be read is set aside inside a directory with a lease of its own, and is not foreign", async () => {
  const path = freshPath();
  await (await openPackageDirectory({ path })).close();
  const { name } = momentOf(1).record;
  fs.mkdirSync(join(path, `${name}.partial`));
  fs.writeFileSync(join(path, `${name}.partial`, "messages.json"), "{");
  const { packages, close } = await openPackageDirectory({ path });
  assert.ok(fs.existsSync(join(path, "quarantine", `feedback-${name}.partial`, "messages.json")));
  assert.deepEqual(await packages.list(), { packages: [], next: null, foreign: [] });
  await close();
});

for (const [what, put] of [
  ["a directory", (place: string) => fs.mkdirSync(place)],
  ["a link to the very bytes", (place: string) => fs.symlinkSync(`${place}.elsewhere`, place)],
] as const) {
  test(`${what} in the place of a file is no file of the package, and the package is damaged`, async () => {
    const path = freshPath();
    const { packages, close } = await openPackageDirectory({ path });
    const { name } = await packages.save(momentOf(1, { samples: 100 }));
    for (const file of ["messages.json", "audio.wav"]) {
      const place = join(path, name, file);
      fs.renameSync(place, `${place}.elsewhere`);
      put(place);
      await assert.rejects(packages.part(name, file), { code: "THROUGHLINE_NOT_FOUND" });
    }
    assert.equal((await packages.verify(name)).state, "damaged");
    await close();
  });
}

test("a path that is a file is THROUGHLINE_CONFIGURATION", async () => {
  const path = freshPath();
  fs.writeFileSync(path, "");
  await assert.rejects(openPackageDirectory({ path: join(path, "in") }), (error) =>
    isThroughlineError(error, "THROUGHLINE_CONFIGURATION"),
  );
});

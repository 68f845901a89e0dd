// Saves one moment after the other until it is killed, and prints the name of each that is durable.
import { openPackageDirectory } from "../../src/moments/directory/open-package-directory.ts";
import { momentOf } from "./package-workload.ts";

const [, , path = "", first = "0"] = process.argv;
const { packages } = await openPackageDirectory({ path, minFreeBytes: 0 });
process.stdout.write("ready\n");
for (let number = Number(first); ; number++) {
  const { name } = await packages.save(momentOf(number, { frames: 12, samples: 8_000 }));
  process.stdout.write(`${name}\n`);
}

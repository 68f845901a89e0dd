import { createHash } from "node:crypto";
import { basename, join } from "node:path";
import type { Manifest } from "../package/package-format.ts";
import { endings } from "./names.ts";
import type { PackagePorts } from "./ports.ts";
import { quarantine } from "./quarantine.ts";
import { removeTree } from "./remove-tree.ts";
import { salvage, type WholeBytes } from "./salvage.ts";
import { type Difference, verifyFolder } from "./verify.ts";
import { publish, writePackage } from "./write-package.ts";

export interface Repair {
  readonly name: string;
  /**
   * `whole`: nothing to do. `repaired`: a new copy of what is right stands there, verified, and the
   * damaged one is in quarantine. `not_repaired`: nothing was touched, because the manifest itself
   * cannot be trusted, or is of another format.
   */
  readonly outcome: "whole" | "repaired" | "not_repaired";
  /** What was wrong. */
  readonly differences: readonly Difference[];
  /** Where the damaged package went. */
  readonly quarantined?: string;
}

/** Makes a package of what is right in a damaged one. Edits nothing in place. */
export async function repairPackage(ports: PackagePorts, name: string): Promise<Repair> {
  const { disk, path } = ports;
  const folder = join(path, name);
  const { state, differences, manifest } = await verifyFolder(disk, folder, name);
  if (state === "whole") return { name, outcome: "whole", differences };
  if (manifest === undefined) return { name, outcome: "not_repaired", differences };

  const half = folder + endings.salvaging;
  await removeTree(disk, half);
  const content = await salvage(disk, folder, manifest, wholeByManifest(manifest));
  const { sealed_timestamp, salvaged, spilled, files, ...record } = content.record as Manifest;
  ports.guard();
  await writePackage(ports, { ...content, record, spilled }, half, { lanes: ports.lanes });
  const made = await verifyFolder(disk, half, name);
  if (made.state !== "whole") {
    await removeTree(disk, half);
    return { name, outcome: "not_repaired", differences };
  }
  // From here a start that finds no package takes the copy: it is whole, and its name is durable
  // before the damaged one loses its own.
  await disk.syncDirectory(path);
  const quarantined = await quarantine(ports, name, {
    key: `${basename(path)}/${name}`,
    kind: "unfinished_package",
    bytes: manifest.files.reduce((sum, { bytes }) => sum + bytes, 0),
    after_seq: 0,
    reason: `a package was damaged in ${differences.length} places; what is right was kept`,
  });
  await publish(ports, half, name);
  return { name, outcome: "repaired", differences, quarantined };
}

/** A sealed file is right or wrong as a whole. */
function wholeByManifest({ files }: Manifest): WholeBytes {
  const hashes = new Map(files.map(({ path, sha256 }) => [path, sha256]));
  return (path, bytes) => {
    const found = createHash("sha256").update(bytes).digest("hex");
    return found === hashes.get(path) ? bytes.length : 0;
  };
}

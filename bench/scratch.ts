import { spawnSync } from "node:child_process";
import { closeSync, ftruncateSync, mkdirSync, mkdtempSync, openSync, rmSync } from "node:fs";
import { join } from "node:path";

export interface Scratch {
  readonly path: string;
  remove(): void;
}

// A process that was just killed may still add a file.
const removing = { recursive: true, force: true, maxRetries: 5 } as const;

/** A directory on the disk that the project lies on: /tmp is often memory. */
export function scratch(): Scratch {
  const path = mkdtempSync(join(process.cwd(), "bench", ".scratch-"));
  return { path, remove: () => rmSync(path, removing) };
}

const imageBytes = 16 * 2 ** 30;

/** A directory on an ext4 file system in memory, whose syncs cost no disk. Rejects where this user may not mount one. */
export function scratchInMemory(): Scratch {
  const folder = mkdtempSync("/dev/shm/throughline-bench-");
  const undo: (() => unknown)[] = [() => rmSync(folder, removing)];
  const remove = () => {
    for (const step of undo.splice(0).reverse()) step();
  };
  try {
    const image = join(folder, "image");
    const fd = openSync(image, "wx");
    ftruncateSync(fd, imageBytes);
    closeSync(fd);
    command("mkfs.ext4", "-q", "-F", image);
    const device = command("losetup", "--find", "--show", image);
    undo.push(() => command("losetup", "--detach", device));
    const path = join(folder, "disk");
    mkdirSync(path);
    command("mount", device, path);
    undo.push(() => command("umount", path));
    return { path, remove };
  } catch (error) {
    remove();
    throw error;
  }
}

function command(program: string, ...args: readonly string[]): string {
  const { status, stdout, stderr, error } = spawnSync(program, args, { encoding: "utf8" });
  if (status !== 0) throw new Error(`${program}: ${error ?? stderr}`);
  return stdout.trim();
}

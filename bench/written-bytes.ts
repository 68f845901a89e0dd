// node bench/written-bytes.ts HOME CHATS: counts what Node's fs writes, by the folder of the file, while
// turns are stored. The kernel's own counters, which see the index too, are sent beside it.
import fs from "node:fs";

/** Bytes of one turn. */
export type WrittenBytes = Readonly<Record<"journal" | "log" | "other" | "all" | "disk", number>>;

const [, , home = "", count] = process.argv;
const chats = Number(count);
const counts = { journal: 0, log: 0, other: 0 };

function note(fd: number, length: number): void {
  const path = fs.readlinkSync(`/proc/self/fd/${fd}`);
  if (!path.startsWith(fs.realpathSync(home))) return; // a pipe to the parent
  if (path.includes("/journal")) counts.journal += length;
  else if (path.includes("/chats/")) counts.log += length;
  else counts.other += length;
}

for (const name of ["write", "writeSync"] as const) {
  const original = fs[name] as (...args: unknown[]) => unknown;
  Reflect.set(
    fs,
    name,
    (fd: number, bytes: Uint8Array, offset: unknown, length: unknown, ...rest: unknown[]) => {
      note(fd, typeof length === "number" ? length : bytes.length);
      return original(fd, bytes, offset, length, ...rest);
    },
  );
}
for (const name of ["writev", "writevSync"] as const) {
  const original = fs[name] as (...args: unknown[]) => unknown;
  Reflect.set(fs, name, (fd: number, parts: readonly Uint8Array[], ...rest: unknown[]) => {
    note(
      fd,
      parts.reduce((sum, part) => sum + part.length, 0),
    );
    return original(fd, parts, ...rest);
  });
}

/** Of this process, from the kernel. */
function kernelCount(name: string): number {
  const text = fs.readFileSync("/proc/self/io", "utf8");
  return Number(new RegExp(`^${name}: (\\d+)`, "m").exec(text)?.[1]);
}

const { openThroughline, turn } = await import("./product.ts");
const throughline = await openThroughline({ home });
const round = () =>
  Promise.all(Array.from({ length: chats }, (_, i) => throughline.chats.append(`c${i}`, turn())));
await round();
const before = { ...counts, all: kernelCount("wchar"), disk: kernelCount("write_bytes") };
const rounds = Math.ceil(4_000 / chats);
for (let i = 0; i < rounds; i++) await round();
await throughline.close();
const each = (after: number, from: number) => (after - from) / (rounds * chats);
const written: WrittenBytes = {
  journal: each(counts.journal, before.journal),
  log: each(counts.log, before.log),
  other: each(counts.other, before.other),
  all: each(kernelCount("wchar"), before.all),
  disk: each(kernelCount("write_bytes"), before.disk),
};
process.send?.(written);
process.disconnect?.();

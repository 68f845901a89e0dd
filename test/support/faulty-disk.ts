import type { Disk, DiskEntry, DiskFile, FilePlace } from "../../src/core/storage/disk/disk.ts";
import { type DiskCall, SimulatedFile } from "./simulated-disk.ts";
import { type Errno, type SystemCall, systemError } from "./system-error.ts";

/** The failures that a disk call can have, as far as stores must tell them apart. */
export const diskErrors = [
  "EIO",
  "ENOSPC",
  "EDQUOT",
  "EMFILE",
  "ENFILE",
  "EACCES",
  "EPERM",
  "EROFS",
  "EBUSY",
  "EINTR",
  "EAGAIN",
  "ENOENT",
  "ESTALE",
  "EFBIG",
] as const satisfies readonly Errno[];

export type DiskError = (typeof diskErrors)[number];

export interface DiskFault {
  /** The error that the call rejects with; `"short"`: a read or write does half of its bytes. */
  readonly fault: DiskError | "short";
  /** The first call that fails, counted from 1 over those that `call` and `path` let through. */
  readonly at: number;
  /** Whether every later call fails too. @default "once" */
  readonly repeat?: "once" | "forever";
  /** Counts only these calls. Default: all; for `"short"` reads and writes. */
  readonly call?: DiskCall | readonly DiskCall[];
  /** Counts only calls on paths that match; for open files the path they were opened by. */
  readonly path?: RegExp;
  /**
   * How much happens of a call that rejects. `"half"`: of a write half of its bytes, of the others
   * nothing. `"all"`: the call is done and its answer lost. A failed sync that does nothing loses
   * what it should have synced, as kernels do: only on a simulated disk, and seen in its crash
   * images alone. A failed close always closes. @default "nothing"
   */
  readonly does?: "nothing" | "half" | "all";
}

export interface FaultyDisk extends Disk {
  /** Whether every fault was reached: a loop over `at` ends when one was not. */
  readonly broke: boolean;
  /** How many calls failed or were cut short. */
  readonly failures: number;
  /** From now on nothing fails. */
  heal(): void;
}

/**
 * A disk on which chosen calls fail. Several faults, each with its own count, make pairs: a short
 * write at n and `ENOSPC` at n + 1 is a disk that fills up.
 */
export function faultyDisk(inner: Disk, faults: DiskFault | readonly DiskFault[]): FaultyDisk {
  return new Faulty(inner, new FaultPlan([faults].flat()));
}

/** One call as a fault sees it. */
interface Call extends SystemCall {
  readonly call: DiskCall;
  /** The path that the filter sees. `path` is only there for errors that name one. */
  readonly of: string;
}

/** What the plan wants of a call. */
interface Verdict {
  readonly error?: Error;
  readonly does: "nothing" | "half" | "all";
}

const fine: Verdict = { does: "all" };

class FaultPlan {
  readonly #faults: readonly { readonly fault: DiskFault; seen: number }[];
  failures = 0;
  healed = false;

  constructor(faults: readonly DiskFault[]) {
    if (!faults.every(({ at }) => at >= 1)) throw new TypeError("at counts calls from 1");
    this.#faults = faults.map((fault) => ({ fault, seen: 0 }));
  }

  get broke(): boolean {
    return this.#faults.every(({ fault, seen }) => seen >= fault.at);
  }

  /** Counts the call for every fault; the first fault that it meets decides. */
  judge(call: Call): Verdict {
    if (this.healed) return fine;
    let verdict: Verdict = fine;
    for (const counter of this.#faults) {
      const { fault } = counter;
      if (!counts(fault, call)) continue;
      counter.seen++;
      const meets =
        fault.repeat === "forever" ? counter.seen >= fault.at : counter.seen === fault.at;
      if (meets && verdict === fine) verdict = verdictOf(fault, call);
    }
    if (verdict !== fine) this.failures++;
    return verdict;
  }

  /** A call that happens wholly or not at all. */
  async whole<T>(call: Call, act: () => Promise<T>, undo?: (result: T) => Promise<void>) {
    const { error, does } = this.judge(call);
    if (error === undefined) return await act();
    if (does === "all") {
      const result = await act();
      await undo?.(result);
    }
    throw error;
  }
}

function counts(fault: DiskFault, { call, of }: Call): boolean {
  const calls = [fault.call ?? (fault.fault === "short" ? ["read", "write"] : [])].flat();
  if (calls.length > 0 && !calls.includes(call)) return false;
  return fault.path === undefined || of.search(fault.path) >= 0;
}

function verdictOf({ fault, does = "nothing" }: DiskFault, call: Call): Verdict {
  if (fault === "short") return { does: "half" };
  return { error: systemError(fault, call), does };
}

class Faulty implements FaultyDisk {
  readonly #inner: Disk;
  readonly #plan: FaultPlan;
  /** That of a simulated disk. */
  readonly tree: unknown;

  constructor(inner: Disk, plan: FaultPlan) {
    this.#inner = inner;
    this.tree = "tree" in inner ? inner.tree : undefined;
    this.#plan = plan;
  }

  get broke(): boolean {
    return this.#plan.broke;
  }
  get failures(): number {
    return this.#plan.failures;
  }
  heal(): void {
    this.#plan.healed = true;
  }

  async open(path: string, how: "read" | "write" | "create"): Promise<DiskFile> {
    const open = () => this.#inner.open(path, how);
    const file = await this.#plan.whole(onPath("open", path), open, (opened) => opened.close());
    return new FaultyFile(file, path, this.#plan);
  }
  mkdir(path: string): Promise<void> {
    return this.#plan.whole(onPath("mkdir", path), () => this.#inner.mkdir(path));
  }
  list(path: string): Promise<readonly DiskEntry[]> {
    return this.#plan.whole(onPath("list", path, "opendir"), () => this.#inner.list(path));
  }
  size(path: string): Promise<number> {
    return this.#plan.whole(onPath("size", path, "lstat"), () => this.#inner.size(path));
  }
  rename(from: string, to: string): Promise<void> {
    const call = { ...onPath("rename", from), to };
    return this.#plan.whole(call, () => this.#inner.rename(from, to));
  }
  unlink(path: string): Promise<void> {
    return this.#plan.whole(onPath("unlink", path), () => this.#inner.unlink(path));
  }
  rmdir(path: string): Promise<void> {
    return this.#plan.whole(onPath("rmdir", path), () => this.#inner.rmdir(path));
  }
  syncDirectory(path: string): Promise<void> {
    const call: Call = { call: "syncDirectory", of: path, name: "fsync" };
    return this.#plan.whole(call, () => this.#inner.syncDirectory(path));
  }
}

class FaultyFile implements DiskFile {
  readonly #inner: DiskFile;
  readonly #path: string;
  readonly #plan: FaultPlan;

  constructor(inner: DiskFile, path: string, plan: FaultPlan) {
    this.#inner = inner;
    this.#path = path;
    this.#plan = plan;
  }

  async read(into: Uint8Array, position: number): Promise<number> {
    const { error, does } = this.#plan.judge(this.#call("read", "read"));
    if (error !== undefined) throw error;
    return await this.#inner.read(does === "half" ? half(into) : into, position);
  }
  async write(bytes: Uint8Array, position: number): Promise<number> {
    const { error, does } = this.#plan.judge(this.#call("write", "write"));
    if (error !== undefined && does === "nothing") throw error;
    const count = await this.#inner.write(does === "half" ? half(bytes) : bytes, position);
    if (error !== undefined) throw error;
    return count;
  }
  size(): Promise<number> {
    return this.#plan.whole(this.#call("size", "fstat"), () => this.#inner.size());
  }
  placeAt(path: string): FilePlace {
    const { error } = this.#plan.judge(onPath("placeAt", path, "lstat"));
    if (error !== undefined) throw error;
    return this.#inner.placeAt(path);
  }
  truncate(size: number): Promise<void> {
    return this.#plan.whole(this.#call("truncate", "ftruncate"), () => this.#inner.truncate(size));
  }
  async extend(from: number, size: number): Promise<void> {
    const { error, does } = this.#plan.judge(this.#call("extend", "write"));
    if (error !== undefined && does === "nothing") throw error;
    await this.#inner.extend(from, does === "half" ? from + ((size - from) >> 1) : size);
    if (error !== undefined) throw error;
  }
  async sync(): Promise<void> {
    const { error, does } = this.#plan.judge(this.#call("sync", "fdatasync"));
    if (error === undefined || does === "all") await this.#inner.sync();
    else if (this.#inner instanceof SimulatedFile) this.#inner.loseUnsynced();
    if (error !== undefined) throw error;
  }
  async close(): Promise<void> {
    const { error } = this.#plan.judge(this.#call("close", "close"));
    await this.#inner.close();
    if (error !== undefined) throw error;
  }

  #call(call: DiskCall, name: string): Call {
    return { call, of: this.#path, name };
  }
}

/** A short count is never 0: that would be the end of the file, or a kernel that does not move. */
function half(bytes: Uint8Array): Uint8Array {
  return bytes.subarray(0, Math.max(1, bytes.length >> 1));
}

/** A call that names its path when it fails. */
function onPath(call: DiskCall, path: string, name: string = call): Call {
  return { call, of: path, name, path };
}

import type { Disk } from "../../src/core/storage/disk/disk.ts";
import { type DiskCallMade, diskAround } from "./hooked-disk.ts";
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
  const plan = new FaultPlan([faults].flat());
  const disk = diskAround(
    inner,
    async (made, act) => {
      const { call, file, half, undo } = made;
      const { error, does } = plan.judge(callOf(made));
      if (error === undefined) return does === "half" && half !== undefined ? half() : act();
      if (does === "all" || call === "close") {
        const result = await act();
        await undo?.(result);
      } else if (call === "sync" && file instanceof SimulatedFile) file.loseUnsynced();
      else if (does === "half") await half?.();
      throw error;
    },
    (path, look) => {
      const { error } = plan.judge({ call: "placeAt", of: path, name: "lstat", path });
      if (error !== undefined) throw error;
      return look();
    },
  );
  return {
    ...disk,
    get broke() {
      return plan.broke;
    },
    get failures() {
      return plan.failures;
    },
    heal: () => {
      plan.healed = true;
    },
  };
}

/** What the kernel calls them, where that differs. */
const namesOfFiles = { size: "fstat", truncate: "ftruncate", extend: "write", sync: "fdatasync" };
const namesOfPaths = { list: "opendir", size: "lstat", syncDirectory: "fsync" };

/** A call of an open file names no path when it fails, nor does the sync of a folder. */
function callOf(made: Pick<DiskCallMade, "call" | "path" | "to" | "file">): Call {
  const { call, path: of, to, file } = made;
  const names: Partial<Record<DiskCall, string>> = file === undefined ? namesOfPaths : namesOfFiles;
  const name = names[call] ?? call;
  if (file !== undefined || call === "syncDirectory") return { call, of, name };
  return { call, of, name, path: of, ...(to === undefined ? {} : { to }) };
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

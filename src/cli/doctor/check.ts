import type { RepairReport } from "../../core/storage/storage.ts";
import type { Settings } from "../settings.ts";

/** One thing that was checked. */
export interface Check {
  /** Stable: scripts look for it. */
  readonly id: string;
  /**
   * `note`: worth a person's attention, nothing is lost. `damaged`: something that was stored cannot
   * be read. `failed`: it could not be checked; `says` tells why.
   */
  readonly status: "ok" | "note" | "damaged" | "failed";
  /** One line for people. */
  readonly says: string;
}

/** Bytes that could not be read when they were found, kept as they were. */
export interface KeptPiece {
  /** Relative to the home. */
  readonly file: string;
  readonly bytes: number;
}

/** What checking one part of a companion found. */
export interface Checked {
  readonly checks: readonly Check[];
  /** Every repair whose report is kept. */
  readonly repairs?: readonly RepairReport[] | undefined;
  /** Bytes that were set aside. */
  readonly quarantine?: readonly KeptPiece[] | undefined;
}

/** Checks one part of a companion. `doctor` runs one after the other. */
export type Checker = (settings: Settings) => Promise<Checked>;

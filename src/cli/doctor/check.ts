import type { Finding } from "../../core/storage/files/quarantine.ts";
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

/** What checking one part of a companion found. */
export interface Checked {
  readonly checks: readonly Check[];
  /** What is not as it was stored. */
  readonly found?: readonly Finding[] | undefined;
}

/**
 * Checks one part of a companion. `doctor` runs one after the other.
 *
 * @param isOpen this process has opened the home.
 */
export type Checker = (settings: Settings, isOpen: boolean) => Promise<Checked>;

/** Makes a check: `check("space", "ok", "3 GB free")`. */
export function check(id: string, status: Check["status"], says: string): Check {
  return { id, status, says };
}

/** One thing that was looked at. */
export interface Check {
  /** Stable: scripts look for it. */
  readonly id: string;
  /**
   * `note`: worth a person's attention, nothing is lost. `damaged`: something that was stored cannot
   * be read. `skipped`: it could not be looked at now; `says` tells why.
   */
  readonly status: "ok" | "note" | "damaged" | "skipped";
  /** One line for people. */
  readonly says: string;
}

/** One thing that was looked at. */
export interface Check {
  /** Stable: scripts look for it. */
  readonly id: string;
  /**
   * `note`: worth a person's attention, nothing is lost. `damaged`: something that was stored cannot
   * be read. `failed`: it was to be looked at and could not be, so that nobody knows; `says` tells why.
   */
  readonly status: "ok" | "note" | "damaged" | "failed";
  /** One line for people. */
  readonly says: string;
}

import { ThroughlineError } from "../../core/errors.ts";
import type { Disk } from "../../core/storage/disk/disk.ts";
import { unlinkIfThere } from "../../core/storage/files/file-ports.ts";
import type { Consent } from "../package/record.ts";
import { consentPath, readConsent, writeConsent } from "./consent-file.ts";

export interface KeptConsentPorts {
  readonly disk: Disk;
  readonly newId: () => string;
  readonly unsyncedNames: Set<string>;
  /** Throws when this process is no longer the writer of the home. */
  readonly guard: () => void;
}

/** What somebody agreed to, kept for later runs: of several changes the last one, whatever is slow. */
export class KeptConsent {
  readonly #ports: KeptConsentPorts;
  readonly #home: string;
  #kept: Consent | "unreadable" | undefined;
  #last: Promise<void> = Promise.resolve();

  constructor(ports: KeptConsentPorts, home: string) {
    this.#ports = ports;
    this.#home = home;
  }

  /** As `readConsent` has it. Call it before anything is kept. */
  async read(): Promise<Consent | "unreadable" | undefined> {
    this.#kept = await readConsent(this.#ports.disk, this.#home);
    return this.#kept;
  }

  /**
   * Keeps it, after those before it, and gives it back. What is withdrawn and cannot be kept takes the whole file with it:
   * the next run then asks again.
   *
   * @throws ThroughlineError `THROUGHLINE_UNAVAILABLE`: the disk refused.
   */
  async keep(consent: Consent): Promise<Consent> {
    const kept = this.#last.then(() => this.#write(consent));
    this.#last = kept.catch(() => undefined); // its caller is told
    await kept;
    return consent;
  }

  async #write(consent: Consent): Promise<void> {
    const { disk, guard } = this.#ports;
    guard();
    try {
      await writeConsent(this.#ports, this.#home, consent);
      this.#kept = consent;
    } catch (cause) {
      if (withdraws(this.#kept, consent)) {
        await unlinkIfThere(disk, consentPath(this.#home)).catch(() => undefined); // told below
      }
      throw new ThroughlineError("what was agreed to could not be kept for the next run", {
        code: "THROUGHLINE_UNAVAILABLE",
        cause,
      });
    }
  }
}

const granted = ["frames", "audio", "upload", "export"] as const;

/** Whether what was kept allows more than is agreed to now, of what nothing is allowed at first. */
function withdraws(kept: Consent | "unreadable" | undefined, now: Consent): boolean {
  if (kept === undefined || kept === "unreadable") return false;
  return granted.some((name) => kept[name] && !now[name]);
}

// <home>/consent.json: what somebody agreed to, until they say something else. Replaced whole.
import { join } from "node:path";
import { isThroughlineError, unavailable } from "../../core/errors.ts";
import type { Logger } from "../../core/logger.ts";
import { type FilePorts, isThere, unlinkIfThere } from "../../core/storage/files/file-ports.ts";
import { jsonOf } from "../package/manifest.ts";
import type { Consent } from "../package/record.ts";
import { consentSwitches, initialConsent, readConsent } from "../record/consent.ts";
import { isNoFile, readWhole } from "./names.ts";
import { writeJson } from "./notes.ts";

interface Ports extends FilePorts {
  readonly logger: Logger;
}

/** What somebody agreed to, kept for later runs: of several changes the last one, whatever is slow. */
export class KeptConsent {
  readonly #ports: Ports;
  readonly #path: string;
  #kept = initialConsent;
  #last: Promise<void> = Promise.resolve();

  constructor(ports: Ports, home: string) {
    this.#ports = ports;
    this.#path = join(home, "consent.json");
  }

  /**
   * Reads it before anything is kept. `undefined`: nothing was said yet. A file that cannot be read agrees to
   * nothing but words.
   */
  async read(): Promise<Consent | undefined> {
    const { disk, logger } = this.#ports;
    try {
      const bytes = await readWhole(disk, this.#path);
      // Larger than anything of ours is not absent.
      if (bytes === undefined && !(await isThere(disk, this.#path))) return undefined;
      this.#kept = readConsent(bytes && jsonOf(bytes));
    } catch (error) {
      // Torn, or somebody wrote it by hand, or it is a folder, a link or a pipe.
      if (!isThroughlineError(error, "THROUGHLINE_INVALID") && !isNoFile(error)) throw error;
      logger.warn({ file: "consent.json" }, "it is not known what was agreed to: ask again");
    }
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

  /** Survives a power cut when it resolves. */
  async #write(consent: Consent): Promise<void> {
    this.#ports.guard();
    try {
      await writeJson(this.#ports, this.#path, consent);
      this.#kept = consent;
    } catch (cause) {
      if (consentSwitches.some((name) => this.#kept[name] && !consent[name])) {
        await unlinkIfThere(this.#ports.disk, this.#path).catch(() => undefined); // told below
      }
      throw unavailable("what was agreed to could not be kept for the next run", cause);
    }
  }
}

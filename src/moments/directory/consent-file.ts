// <home>/consent.json: what somebody agreed to, until they say something else. Replaced whole.
import { dirname, join } from "node:path";
import { isThroughlineError, unavailable } from "../../core/errors.ts";
import type { Logger } from "../../core/logger.ts";
import {
  type FilePorts,
  isThere,
  syncNames,
  unlinkIfThere,
} from "../../core/storage/files/file-ports.ts";
import { jsonOf } from "../package/manifest.ts";
import type { Consent } from "../package/record.ts";
import { consentSwitches, initialConsent, readConsent } from "../record/consent.ts";
import { readIfFile } from "./names.ts";
import { writeJson } from "./notes.ts";

interface Ports extends FilePorts {
  readonly logger: Logger;
}

/** What a file of one byte agrees to: nothing. */
const nothing: Consent = { ...initialConsent, messages: false };

/** What somebody agreed to, kept for later runs: of several changes the last one, whatever is slow. */
export class KeptConsent {
  readonly #ports: Ports;
  readonly #path: string;
  /** `undefined`: nothing was said yet. */
  #kept: Consent | undefined = initialConsent;
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
      const bytes = await readIfFile(disk, this.#path);
      // Larger than anything of ours, a folder, a link or a pipe is not absent.
      const isNone = bytes === undefined && !(await isThere(disk, this.#path));
      if (bytes?.length === 1) this.#kept = nothing;
      else this.#kept = isNone ? undefined : readConsent(bytes && jsonOf(bytes));
    } catch (error) {
      // Torn, or somebody wrote it by hand, or it is no file.
      if (!isThroughlineError(error, "THROUGHLINE_INVALID")) throw error;
      logger.warn({ file: "consent.json" }, "it is not known what was agreed to: ask again");
    }
    return this.#kept;
  }

  /**
   * Keeps it, after those before it, and gives it back. What is withdrawn, or said first, and cannot be kept leaves an
   * empty file: the next run agrees to nothing but words; or where words are refused a file of one byte: it agrees to
   * nothing. Without a file what it is configured with would hold.
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
      const kept = this.#kept;
      const isWithdrawn =
        kept === undefined || consentSwitches.some((name) => kept[name] && !consent[name]);
      // Of an unknown outcome it is in its place.
      const isKept = isThroughlineError(cause, "THROUGHLINE_OUTCOME_UNKNOWN");
      if (isWithdrawn && !isKept) await this.#cut(consent).catch(() => undefined); // told below
      throw unavailable("what was agreed to could not be kept for the next run", cause);
    }
  }

  /** Cuts the file to the one byte or none that says what is left of a consent: a full disk has room for that. */
  async #cut({ messages }: Consent): Promise<void> {
    const { disk } = this.#ports;
    let file = await disk.open(this.#path, "write").catch(() => undefined);
    if (file === undefined) {
      await unlinkIfThere(disk, this.#path); // no file of ours
      file = await disk.open(this.#path, "create");
      await syncNames(this.#ports, dirname(this.#path));
    }
    try {
      await file.truncate(messages ? 0 : 1);
      await file.sync();
    } finally {
      await file.close();
    }
  }
}

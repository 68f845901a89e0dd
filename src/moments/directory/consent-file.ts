// <home>/consent.json: what somebody agreed to, until they say something else. Replaced whole.
import { join } from "node:path";
import { isThroughlineError, ThroughlineError } from "../../core/errors.ts";
import {
  isThere,
  replaceFile,
  unlinkIfThere,
  writeAll,
} from "../../core/storage/files/file-ports.ts";
import { jsonOf } from "../package/read-manifest.ts";
import type { Consent } from "../package/record.ts";
import { readConsent } from "../record/consent.ts";
import { isNoFile } from "./disk-errors.ts";
import type { PackagePorts } from "./ports.ts";
import { readWhole } from "./read-package.ts";

type Ports = Pick<PackagePorts, "disk" | "newId" | "unsyncedNames" | "guard">;

/** What somebody agreed to, kept for later runs: of several changes the last one, whatever is slow. */
export class KeptConsent {
  readonly #ports: Ports;
  readonly #path: string;
  #kept: Consent | "unreadable" | undefined;
  #last: Promise<void> = Promise.resolve();

  constructor(ports: Ports, home: string) {
    this.#ports = ports;
    this.#path = join(home, "consent.json");
  }

  /**
   * Reads it before anything is kept. `undefined`: nothing was said yet. `"unreadable"`: it is not known what;
   * then nothing is.
   */
  async read(): Promise<Consent | "unreadable" | undefined> {
    const { disk } = this.#ports;
    try {
      const bytes = await readWhole(disk, this.#path);
      if (bytes !== undefined) this.#kept = readConsent(jsonOf(bytes));
      // Larger than anything of ours is not absent.
      else if (await isThere(disk, this.#path)) this.#kept = "unreadable";
    } catch (error) {
      // Torn, or somebody wrote it by hand, or it is a folder, a link or a pipe.
      if (!isThroughlineError(error, "THROUGHLINE_INVALID") && !isNoFile(error)) throw error;
      this.#kept = "unreadable";
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
    const bytes = Buffer.from(`${JSON.stringify(consent, undefined, 2)}\n`);
    try {
      await replaceFile(this.#ports, this.#path, (file) => writeAll(file, bytes, 0));
      this.#kept = consent;
    } catch (cause) {
      if (withdraws(this.#kept, consent)) {
        await unlinkIfThere(this.#ports.disk, this.#path).catch(() => undefined); // told below
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

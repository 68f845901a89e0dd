// <home>/consent.json: what somebody agreed to, until they say something else. Replaced whole.
import { join } from "node:path";
import { isThroughlineError, ThroughlineError } from "../../core/errors.ts";
import type { Disk } from "../../core/storage/disk/disk.ts";
import {
  isThere,
  replaceFile,
  unlinkIfThere,
  writeAll,
} from "../../core/storage/files/file-ports.ts";
import type { Consent } from "../package/record.ts";
import { readConsent } from "../record/consent.ts";
import { isNoFile } from "./disk-errors.ts";
import type { PackagePorts } from "./ports.ts";
import { readWhole } from "./read-package.ts";

const consentPath = (home: string): string => join(home, "consent.json");

/** `undefined`: nothing was said yet. `"unreadable"`: it is not known what; then nothing is. */
async function readFile(disk: Disk, home: string): Promise<Consent | "unreadable" | undefined> {
  const path = consentPath(home);
  try {
    const bytes = await readWhole(disk, path);
    // Larger than anything of ours is not absent.
    if (bytes === undefined) return (await isThere(disk, path)) ? "unreadable" : undefined;
    return readConsent(JSON.parse(bytes.toString("utf8")));
  } catch (error) {
    // Torn, or somebody wrote it by hand, or it is a folder, a link or a pipe.
    const isInvalid = isThroughlineError(error, "THROUGHLINE_INVALID");
    if (isInvalid || error instanceof SyntaxError || isNoFile(error)) return "unreadable";
    throw error;
  }
}

/** Survives a power cut when it resolves. */
async function writeConsent(
  ports: Parameters<typeof replaceFile>[0],
  home: string,
  consent: Consent,
): Promise<void> {
  const bytes = Buffer.from(`${JSON.stringify(consent, undefined, 2)}\n`);
  await replaceFile(ports, consentPath(home), (file) => writeAll(file, bytes, 0));
}

type Kept = Pick<PackagePorts, "disk" | "newId" | "unsyncedNames" | "guard">;

/** What somebody agreed to, kept for later runs: of several changes the last one, whatever is slow. */
export class KeptConsent {
  readonly #ports: Kept;
  readonly #home: string;
  #kept: Consent | "unreadable" | undefined;
  #last: Promise<void> = Promise.resolve();

  constructor(ports: Kept, home: string) {
    this.#ports = ports;
    this.#home = home;
  }

  /** As `readFile` has it. Call it before anything is kept. */
  async read(): Promise<Consent | "unreadable" | undefined> {
    this.#kept = await readFile(this.#ports.disk, this.#home);
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

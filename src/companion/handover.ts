import { isJsonObject } from "../core/json.ts";
import type { Boot } from "./boot.ts";
import type { CompanionDocument } from "./companion-document.ts";
import type { CompanionPorts } from "./options.ts";
import type { RunsLog } from "./runs.ts";
import { readLeft, runsToTakeOver, takeOverRun } from "./shared-run.ts";

/** A companion document, as it is read or as it is written. */
interface Saved {
  readonly throughline?: unknown;
}

/**
 * What of the stored companion one of several processes has in what it feels. It goes on from a save
 * that others made: after each of them, and when it takes over and may have missed what led to it.
 */
export class Handover {
  readonly #ports: CompanionPorts;
  readonly #pid: number | undefined;
  /** The save that was felt along with, or read. */
  #mark: string | undefined;
  /** How often something may have been missed since a save that was read. */
  #missed = 0;
  /** The run of a takeover that has not ended. */
  #tried: RunsLog | undefined;

  /** @param joined the document that was gone on from at the beginning. */
  constructor(ports: CompanionPorts, pid: number | undefined, joined: Saved | undefined) {
    this.#ports = ports;
    this.#pid = pid;
    this.#mark = joined && markOf(joined);
  }

  /** Something may not have been heard here. */
  missed(): void {
    this.#missed++;
  }

  /**
   * Reads what was saved.
   *
   * @param adopt goes on from it; `false`: not now, as something of here may not be in it.
   */
  async follow(adopt: (document: CompanionDocument) => boolean): Promise<void> {
    const missed = this.#missed;
    const { document } = await readLeft(this.#ports.storage);
    if (document === undefined) return;
    // What was missed since it was saved may not be in it.
    if (adopt(document) && this.#missed === missed) this.#missed = 0;
    if (this.#missed === 0) this.#mark = markOf(document);
  }

  /**
   * Begins to take the run over: its boot is on record. Until `done`, another call takes up the same run.
   *
   * @param written what this process saved last itself.
   * @returns `news`: what others saved and this process may never have heard. It is to be gone on from.
   * @throws ThroughlineError the codes of the storage.
   */
  async take(
    joined: Boot,
    written: Saved | undefined,
  ): Promise<{ readonly boot: Boot; readonly news: CompanionDocument | undefined }> {
    this.#tried = await runsToTakeOver(this.#ports, this.#tried);
    const boot = await takeOverRun(this.#ports, joined, { runs: this.#tried, pid: this.#pid });
    const mark = boot.document && markOf(boot.document);
    const isKnown = mark === this.#mark || (written !== undefined && mark === markOf(written));
    if (this.#missed === 0 || isKnown) return { boot, news: undefined };
    this.#mark = mark;
    return { boot, news: boot.document };
  }

  /** The run that was taken over is this process's: its state is stored. */
  done(): void {
    this.#tried = undefined;
    this.#missed = 0;
  }
}

/** The instant of a save names it: signs of life repeat it. */
function markOf({ throughline }: Saved): string {
  return JSON.stringify(isJsonObject(throughline) ? (throughline["saved"] ?? null) : null);
}

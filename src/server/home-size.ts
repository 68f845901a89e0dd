import type { Clock } from "../core/clock.ts";
import { realDisk } from "../core/storage/disk/disk.ts";
import { homeBytes } from "../core/storage/files/home-bytes.ts";
import { until } from "../core/timers.ts";

/** A home is looked through at most this often, in milliseconds, and for a twentieth of the time. */
const everyMs = 60_000;
/** How long one who asks waits for that, in milliseconds. */
const waitMs = 250;

/** Knows how large the parts of a home are. Looks through it beside those who ask. */
export class HomeSize {
  #bytes: Record<string, number> = {};
  #look: Promise<void> | undefined;
  #next = Number.NEGATIVE_INFINITY;
  readonly #ending = new AbortController();

  /** @returns what was found the last time; nothing while the first look runs. */
  async read(home: string, clock: Clock): Promise<Record<string, number>> {
    if (clock.monotonic() >= this.#next) this.#look ??= this.#lookThrough(home, clock);
    const { signal } = this.#ending;
    const looked = this.#look?.catch(() => undefined);
    if (looked !== undefined) await until(looked, { ms: waitMs, signal });
    return this.#bytes;
  }

  async #lookThrough(home: string, clock: Clock): Promise<void> {
    const begun = clock.monotonic();
    this.#bytes = await homeBytes(realDisk, home, this.#ending.signal);
    this.#next = begun + Math.max(everyMs, 20 * (clock.monotonic() - begun));
    this.#look = undefined;
  }

  /** Ends the look that runs: it would hold the process. */
  end(): void {
    this.#ending.abort();
  }
}

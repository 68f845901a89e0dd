import type { Clock } from "../core/clock.ts";
import type { RepairReport } from "../core/storage/storage.ts";
import type { Turn } from "../core/turns/turn.ts";
import type { Gauges, Instruments } from "./instruments.ts";

/** How long after the first count the library that counts is loaded, in milliseconds. */
const loadAfterMs = 1_000;

/**
 * What `GET /metrics` tells. The library behind it is loaded when the server has answered its first
 * requests, or when somebody asks; what happened until then is counted then.
 */
export class Metrics {
  readonly #clock: Clock;
  readonly #open: () => Promise<Instruments>;
  #opened: Promise<Instruments> | undefined;
  #instruments: Instruments | undefined;
  /** What happened before there was anything to count with. */
  #early: ((instruments: Instruments) => void)[] = [];

  constructor(clock: Clock, version: string, now: Gauges) {
    this.#clock = clock;
    this.#open = async () => {
      const { openInstruments } = await import("./instruments.ts");
      return openInstruments(version, now);
    };
  }

  /** Adds what Node tells of this process. Once per process is enough: it costs a timer. */
  watchProcess(): void {
    this.#count((instruments) => instruments.watchProcess());
  }

  request(method: string, route: string, status: number): void {
    this.#count(({ requests }) => requests.inc({ method, route, status }));
  }

  async turn(turn: Turn): Promise<void> {
    const begun = this.#clock.monotonic();
    const outcome = await turn.done.then(
      (answer) => answer.outcome,
      () => "error",
    );
    const seconds = (this.#clock.monotonic() - begun) / 1000;
    this.#count(({ turns, turnSeconds }) => {
      turns.inc({ outcome });
      turnSeconds.observe(seconds);
    });
  }

  repair({ kind }: RepairReport): void {
    this.#count(({ repairs }) => repairs.inc({ kind }));
  }

  /** All of it, in the text format of Prometheus. */
  async read(): Promise<{ readonly type: string; readonly text: string }> {
    const { registry } = await this.#load();
    return { type: registry.contentType, text: await registry.metrics() };
  }

  #count(change: (instruments: Instruments) => void): void {
    if (this.#instruments !== undefined) {
      change(this.#instruments);
      return;
    }
    this.#early.push(change);
    if (this.#early.length > 1) return;
    const load = () => void this.#load().catch(() => undefined); // whoever asks is told
    setTimeout(load, loadAfterMs).unref();
  }

  #load(): Promise<Instruments> {
    this.#opened ??= this.#open().then((instruments) => {
      this.#instruments = instruments;
      for (const change of this.#early) change(instruments);
      this.#early = [];
      return instruments;
    });
    return this.#opened;
  }
}

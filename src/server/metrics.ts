import type { Clock } from "../core/clock.ts";
import type { IndexBehind, RepairReport } from "../core/storage/storage.ts";
import type { Turn } from "../core/turns/turn.ts";

type Prometheus = typeof import("prom-client");

/** What is as it is when somebody asks. */
interface Gauges {
  readonly turns: () => number;
  readonly chats: () => number;
  readonly watchers: () => number;
  readonly indexBehind: () => IndexBehind;
  readonly isReady: () => Promise<boolean>;
}

type Instruments = ReturnType<typeof openInstruments>;

/** How long after the first count the library that counts is loaded, in milliseconds. */
const loadAfterMs = 1_000;

/**
 * What `GET /metrics` shows. The library behind it is loaded when the server has answered its first
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
      return openInstruments(await import("prom-client"), version, now);
    };
  }

  /** Adds what Node knows of this process. Once per process is enough: it costs a timer. */
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
    const load = () => void this.#load().catch(() => undefined); // GET /metrics reports it
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

/** Counters in a registry of their own. Labels are names of ours, never of people. */
function openInstruments(prom: Prometheus, version: string, now: Gauges) {
  const { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } = prom;
  const registry = new Registry();
  const registers = [registry];
  const gauge = (name: string, help: string, read: () => number) =>
    new Gauge({
      name,
      help,
      registers,
      collect() {
        this.set(read());
      },
    });
  const requests = new Counter({
    name: "throughline_http_requests_total",
    registers,
    help: "Requests that were answered, by the route's pattern.",
    labelNames: ["method", "route", "status"],
  });
  const turns = new Counter({
    name: "throughline_turns_total",
    registers,
    help: "Turns that ended. error: nothing, or no answer, could be stored.",
    labelNames: ["outcome"],
  });
  const turnSeconds = new Histogram({
    name: "throughline_turn_seconds",
    registers,
    help: "How long turns ran, from their begin to the stored answer.",
    buckets: [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300],
  });
  const repairs = new Counter({
    name: "throughline_repairs_total",
    registers,
    help: "How often stored bytes were found damaged or missing.",
    labelNames: ["kind"],
  });
  gauge("throughline_turns", "Turns that run or wait.", now.turns);
  gauge("throughline_open_chats", "Chats that were talked in lately.", now.chats);
  gauge("throughline_watchers", "Open event streams.", now.watchers);
  gauge(
    "throughline_index_waiting_batches",
    "Stored batches that wait to be written to the index.",
    () => now.indexBehind().batches,
  );
  gauge(
    "throughline_index_waiting_bytes",
    "Bytes of log in stored batches that wait to be written to the index.",
    () => now.indexBehind().bytes,
  );
  new Gauge({
    name: "throughline_ready",
    help: "1 when something could be stored now, else 0.",
    registers,
    async collect() {
      this.set((await now.isReady()) ? 1 : 0);
    },
  });
  new Gauge({
    name: "throughline_build_info",
    help: "Always 1.",
    labelNames: ["version"],
    registers,
  }).set({ version }, 1);
  const watchProcess = () => collectDefaultMetrics({ register: registry });
  return { registry, requests, turns, turnSeconds, repairs, watchProcess };
}

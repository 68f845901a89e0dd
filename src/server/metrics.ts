import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";
import type { Clock } from "../clock.ts";
import type { Turn } from "../runtime/turn.ts";
import type { RepairReport } from "../storage/storage.ts";

/** What `GET /metrics` tells, in a registry of its own. Labels are names of ours, never of people. */
export class Metrics {
  readonly registry = new Registry();
  readonly #clock: Clock;
  readonly #requests: Counter<"method" | "route" | "status">;
  readonly #turns: Counter<"outcome">;
  readonly #turnSeconds: Histogram;
  readonly #repairs: Counter<"kind">;

  constructor(
    clock: Clock,
    version: string,
    now: {
      readonly turns: () => number;
      readonly chats: () => number;
      readonly watchers: () => number;
    },
  ) {
    this.#clock = clock;
    const registers = [this.registry];
    this.#requests = new Counter({
      ...{ name: "throughline_http_requests_total", registers },
      help: "Requests that were answered, by the route's pattern.",
      labelNames: ["method", "route", "status"],
    });
    this.#turns = new Counter({
      ...{ name: "throughline_turns_total", registers },
      help: "Turns that ended. error: nothing, or no answer, could be stored.",
      labelNames: ["outcome"],
    });
    this.#turnSeconds = new Histogram({
      ...{ name: "throughline_turn_seconds", registers },
      help: "How long turns ran, from their begin to the stored answer.",
      buckets: [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300],
    });
    this.#repairs = new Counter({
      ...{ name: "throughline_repairs_total", registers },
      help: "Stored bytes that were not as they were left.",
      labelNames: ["kind"],
    });
    gauge(registers, "throughline_turns", "Turns that run or wait.", now.turns);
    gauge(registers, "throughline_open_chats", "Chats that were talked in lately.", now.chats);
    gauge(registers, "throughline_watchers", "Open event streams.", now.watchers);
    new Gauge({
      ...{ name: "throughline_build_info", help: "Always 1.", labelNames: ["version"], registers },
    }).set({ version }, 1);
  }

  /** Adds what Node tells of this process. Once per process is enough: it costs a timer. */
  watchProcess(): void {
    collectDefaultMetrics({ register: this.registry });
  }

  request(method: string, route: string, status: number): void {
    this.#requests.inc({ method, route, status });
  }

  async turn(turn: Turn): Promise<void> {
    const begun = this.#clock.monotonic();
    const outcome = await turn.done.then(
      (answer) => answer.outcome,
      () => "error",
    );
    this.#turns.inc({ outcome });
    this.#turnSeconds.observe((this.#clock.monotonic() - begun) / 1000);
  }

  repair({ kind }: RepairReport): void {
    this.#repairs.inc({ kind });
  }
}

function gauge(registers: Registry[], name: string, help: string, read: () => number): void {
  new Gauge({
    ...{ name, help, registers },
    collect() {
      this.set(read());
    },
  });
}

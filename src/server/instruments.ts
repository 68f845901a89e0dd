import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";

/** What is as it is when somebody asks. */
export interface Gauges {
  readonly turns: () => number;
  readonly chats: () => number;
  readonly watchers: () => number;
  readonly isReady: () => Promise<boolean>;
}

export type Instruments = ReturnType<typeof openInstruments>;

/** Counters in a registry of their own. Labels are names of ours, never of people. */
export function openInstruments(version: string, now: Gauges) {
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
    help: "Stored bytes that were not as they were left.",
    labelNames: ["kind"],
  });
  gauge("throughline_turns", "Turns that run or wait.", now.turns);
  gauge("throughline_open_chats", "Chats that were talked in lately.", now.chats);
  gauge("throughline_watchers", "Open event streams.", now.watchers);
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

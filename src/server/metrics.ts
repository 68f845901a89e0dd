import { monitorEventLoopDelay } from "node:perf_hooks";
import type { Clock } from "../core/clock.ts";
import type { IndexBehind, RepairReport } from "../core/storage/storage.ts";
import type { Turn } from "../core/turns/turn.ts";

/** Values that are read when somebody asks. */
interface Gauges {
  readonly turns: () => number;
  readonly chats: () => number;
  readonly watchers: () => number;
  readonly indexBehind: () => IndexBehind;
  readonly isReady: () => Promise<boolean>;
}

/** One value, or values by what follows the name: a suffix, labels, or both. */
type Samples = number | Readonly<Record<string, number>>;

/** Upper bounds of how long turns run, in seconds. */
const turnBuckets = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, Infinity];

const help: Readonly<Record<string, string>> = {
  throughline_http_requests_total: "Requests that were answered, by the route's pattern.",
  throughline_turns_total: "Turns that ended. error: nothing, or no answer, could be stored.",
  throughline_turn_seconds: "How long turns ran, from their begin to the stored answer.",
  throughline_repairs_total: "How often stored bytes were found damaged or missing.",
  throughline_turns: "Turns that run or wait.",
  throughline_open_chats: "Chats that were talked in lately.",
  throughline_watchers: "Open event streams.",
  throughline_index_waiting_batches: "Stored batches that wait to be written to the index.",
  throughline_index_waiting_bytes: "Bytes of log in batches that wait to be written to the index.",
  throughline_ready: "1 when something could be stored now, else 0.",
};

/** Counts what `GET /metrics` shows. Labels are names of ours, never of people. */
export class Metrics {
  readonly #requests: Record<string, number> = {};
  readonly #turns: Record<string, number> = {};
  readonly #repairs: Record<string, number> = {};
  #turnSeconds = turnBuckets.map(() => 0);
  #turnSecondsSum = 0;
  readonly #delay = monitorEventLoopDelay();
  readonly #clock: Clock;
  readonly #version: string;
  readonly #now: Gauges;

  constructor(clock: Clock, version: string, now: Gauges) {
    this.#clock = clock;
    this.#version = version;
    this.#now = now;
  }

  /** Watches the event loop. Once per process is enough: it costs a timer. */
  watchProcess(): void {
    this.#delay.enable();
  }

  request(method: string, route: string, status: number): void {
    add(this.#requests, { method, route, status: String(status) });
  }

  async turn(turn: Turn): Promise<void> {
    const begun = this.#clock.monotonic();
    const outcome = await turn.done.then(
      (answer) => answer.outcome,
      () => "error",
    );
    const seconds = (this.#clock.monotonic() - begun) / 1000;
    add(this.#turns, { outcome });
    this.#turnSecondsSum += seconds;
    const from = turnBuckets.findIndex((bound) => seconds <= bound);
    this.#turnSeconds = this.#turnSeconds.map((count, index) => count + (index >= from ? 1 : 0));
  }

  repair({ kind }: RepairReport): void {
    add(this.#repairs, { kind });
  }

  /** Writes all of it in the text format of Prometheus. */
  async read(): Promise<{ readonly type: string; readonly text: string }> {
    const now = this.#now;
    const { batches, bytes } = now.indexBehind();
    const text = inPrometheusText({
      throughline_http_requests_total: this.#requests,
      throughline_turns_total: this.#turns,
      throughline_turn_seconds: this.#histogram(),
      throughline_repairs_total: this.#repairs,
      throughline_turns: now.turns(),
      throughline_open_chats: now.chats(),
      throughline_watchers: now.watchers(),
      throughline_index_waiting_batches: batches,
      throughline_index_waiting_bytes: bytes,
      throughline_ready: Number(await now.isReady()),
      throughline_build_info: { [labels({ version: this.#version })]: 1 },
      ...ofProcess(),
      ...this.#lag(),
    });
    return { type: "text/plain; version=0.0.4; charset=utf-8", text };
  }

  #histogram(): Samples {
    const buckets = turnBuckets.map((bound, index) => {
      const le = bound === Infinity ? "+Inf" : String(bound);
      return [`_bucket${labels({ le })}`, this.#turnSeconds[index] ?? 0] as const;
    });
    const count = this.#turnSeconds.at(-1) ?? 0;
    return { ...Object.fromEntries(buckets), _sum: this.#turnSecondsSum, _count: count };
  }

  /** Gives the delays of the event loop since the last answer; none before the first was measured. */
  #lag(): Readonly<Record<string, Samples>> {
    const { count, min, max, mean, stddev } = this.#delay;
    if (count === 0) return {};
    const [p50 = 0, p90 = 0, p99 = 0] = [50, 90, 99].map((each) => this.#delay.percentile(each));
    this.#delay.reset();
    const all = Object.entries({ min, max, mean, stddev, p50, p90, p99 }).map(
      ([name, nanoseconds]) => [`nodejs_eventloop_lag_${name}_seconds`, nanoseconds / 1e9] as const,
    );
    return Object.fromEntries(all);
  }
}

/** Describes this process under the names that dashboards for Node know. */
function ofProcess(): Readonly<Record<string, Samples>> {
  const { user, system } = process.cpuUsage();
  const { rss, heapTotal, heapUsed, external } = process.memoryUsage();
  return {
    process_cpu_user_seconds_total: user / 1e6,
    process_cpu_system_seconds_total: system / 1e6,
    process_cpu_seconds_total: (user + system) / 1e6,
    process_start_time_seconds: performance.timeOrigin / 1000,
    process_resident_memory_bytes: rss,
    nodejs_heap_size_total_bytes: heapTotal,
    nodejs_heap_size_used_bytes: heapUsed,
    nodejs_external_memory_bytes: external,
    nodejs_version_info: { [labels({ version: process.version })]: 1 },
  };
}

function add(counts: Record<string, number>, values: Readonly<Record<string, string>>): void {
  const key = labels(values);
  counts[key] = (counts[key] ?? 0) + 1;
}

function labels(values: Readonly<Record<string, string>>): string {
  const all = Object.entries(values).map(([name, value]) => {
    return `${name}="${value.replace(/[\\"]/g, "\\$&").replaceAll("\n", "\\n")}"`;
  });
  return `{${all.join()}}`;
}

function inPrometheusText(metrics: Readonly<Record<string, Samples>>): string {
  const lines = Object.entries(metrics).flatMap(([name, samples]) => {
    const says = help[name];
    const type = /_total$/.test(name)
      ? "counter"
      : /_turn_seconds$/.test(name)
        ? "histogram"
        : "gauge";
    const all = Object.entries(typeof samples === "number" ? { "": samples } : samples);
    return [
      ...(says === undefined ? [] : [`# HELP ${name} ${says}`]),
      `# TYPE ${name} ${type}`,
      ...all.map(([rest, value]) => `${name}${rest} ${value}`),
    ];
  });
  return `${lines.join("\n")}\n`;
}

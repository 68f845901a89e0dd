import { keptFor } from "../core/clock.ts";
import { realDisk } from "../core/storage/disk/disk.ts";
import { homeBytes } from "../core/storage/files/home-bytes.ts";
import { readLastBackup } from "../core/storage/files/last-backup.ts";
import type { OwnHome, RepairReport } from "../core/storage/storage.ts";
import { until } from "../core/timers.ts";
import type { Turn } from "../core/turns/turn.ts";
import type { Settings } from "./options.ts";

/** What is looked at when somebody asks. */
interface Sources extends Pick<Settings, "clock" | "version" | "throughline" | "turns"> {
  readonly watchers: { readonly size: number };
  readonly readiness: () => Promise<unknown>;
}

/** Values by what follows the name: a suffix, labels, both or nothing. */
type Samples = Record<string, number>;

/** Upper bounds of how long turns run, in seconds. */
const turnBuckets = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, Infinity];

/** By how a name ends. */
const types: Readonly<Record<string, string>> = {
  total: "counter",
  turn_seconds: "histogram",
  sync_seconds: "summary",
};

/** A home is looked through at most this often, in milliseconds. */
const sizeMs = 300_000;
/** How long one who asks waits for that, in milliseconds. */
const sizeWaitMs = 250;

/** Counts what `GET /metrics` shows. Labels are names of ours, never of people. */
export class Metrics {
  readonly #from: Sources;
  readonly #counts = new Map<string, Samples>();
  readonly #ending = new AbortController();
  readonly #look: () => Promise<Samples>;
  /** Bytes of the home as they were found last, by part. */
  #bytes: Samples = {};

  constructor(from: Sources) {
    this.#from = from;
    const { path = "" } = from.throughline.storage.ownHome ?? {};
    const { signal } = this.#ending;
    this.#look = keptFor(sizeMs, from.clock, () =>
      homeBytes(realDisk, path, signal).catch(() => this.#bytes),
    );
    for (const bound of turnBuckets) this.#add("turn_seconds", bucket(bound), 0);
    for (const sum of ["_sum", "_count"]) this.#add("turn_seconds", sum, 0);
  }

  /** Ends what would hold the process. */
  end(): void {
    this.#ending.abort();
  }

  request(method: string, route: string, status: number): void {
    this.#add("http_requests_total", labels({ method, route, status: String(status) }));
  }

  repair({ kind }: RepairReport): void {
    this.#add("repairs_total", labels({ kind }));
  }

  async turn(turn: Turn): Promise<void> {
    const { clock } = this.#from;
    const begun = clock.monotonic();
    const answer = await turn.done.catch(() => undefined);
    const seconds = (clock.monotonic() - begun) / 1000;
    this.#add("turns_total", labels({ outcome: answer?.outcome ?? "error" }));
    this.#add("turn_seconds", "_sum", seconds);
    this.#add("turn_seconds", "_count");
    for (const le of turnBuckets) if (seconds <= le) this.#add("turn_seconds", bucket(le));
    if (answer === undefined) return;
    const provider = labels({ provider: answer.period.provider });
    for (const { waitMs } of turn.waits) {
      this.#add("provider_waits_total", provider);
      this.#add("provider_wait_seconds_total", provider, waitMs / 1000);
    }
    const { outcome, assistant } = answer;
    if (outcome !== "failed" && assistant?.partial_reason !== "error") return;
    this.#add("provider_errors_total", provider);
  }

  /** Writes all of it in the text format of Prometheus. */
  async text(): Promise<string> {
    const values = { ...Object.fromEntries(this.#counts), ...(await this.#read()) };
    const families = Object.entries(values).map(([name, value]) => {
      const all = Object.entries(typeof value === "number" ? { "": value } : value);
      const [end = ""] = /total$|turn_seconds$|sync_seconds$|$/.exec(name) ?? [];
      const type = types[end] ?? "gauge";
      return [`# TYPE ${name} ${type}`, ...all.map(([rest, n]) => `${name}${rest} ${n}`)];
    });
    return `${families.flat().join("\n")}\n`;
  }

  /** Reads what is not counted. */
  async #read(): Promise<Record<string, number | Samples>> {
    const { throughline, turns, watchers, readiness, version } = this.#from;
    const { ownHome } = throughline.storage;
    const behind = ownHome?.indexBehind?.();
    const damaged = await throughline.chats
      .list({ damaged: true, limit: 1_000 })
      .catch(() => undefined);
    const shared = Object.entries(throughline.storage.figures?.() ?? {});
    const { user, system } = process.cpuUsage();
    return {
      throughline_turns: turns.size,
      throughline_open_chats: throughline.workingMemory.stats().length,
      throughline_watchers: watchers.size,
      throughline_index_waiting_bytes: behind?.bytes ?? 0,
      ...(damaged && { throughline_damaged_chats: damaged.chats.length }),
      ...(ownHome && (await this.#ofHome(ownHome))),
      ...Object.fromEntries(shared.map(([name, value]) => [`throughline_${name}`, value])),
      throughline_ready: Number((await readiness()) === undefined),
      throughline_build_info: { [labels({ version })]: 1 },
      process_cpu_seconds_total: (user + system) / 1e6,
      process_start_time_seconds: performance.timeOrigin / 1000,
      process_resident_memory_bytes: process.memoryUsage.rss(),
    };
  }

  async #ofHome({ path, syncTimes }: OwnHome): Promise<Record<string, number | Samples>> {
    const { signal } = this.#ending;
    this.#bytes = (await until(this.#look(), { ms: sizeWaitMs, signal })) ?? this.#bytes;
    const bytes = Object.entries(this.#bytes);
    const { sum = 0, count = 0 } = syncTimes?.() ?? {};
    const backup = await readLastBackup(realDisk, path);
    return {
      throughline_sync_seconds: { _sum: sum, _count: count },
      throughline_home_bytes: Object.fromEntries(bytes.map(([part, n]) => [labels({ part }), n])),
      ...(backup && {
        throughline_last_backup_time_seconds: Date.parse(backup.made_at) / 1000,
        throughline_last_backup_whole: Number(backup.whole),
      }),
    };
  }

  #add(name: string, key: string, by = 1): void {
    const counts = this.#counts.get(`throughline_${name}`) ?? {};
    counts[key] = (counts[key] ?? 0) + by;
    this.#counts.set(`throughline_${name}`, counts);
  }
}

const bucket = (le: number) => `_bucket${labels({ le: le === Infinity ? "+Inf" : String(le) })}`;

function labels(values: Readonly<Record<string, string>>): string {
  const all = Object.entries(values).map(([name, value]) => {
    return `${name}="${value.replace(/[\\"]/g, "\\$&").replaceAll("\n", "\\n")}"`;
  });
  return `{${all.join()}}`;
}

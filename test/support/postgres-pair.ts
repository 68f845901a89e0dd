// A primary and its synchronous standby, for tests that kill the primary: RELIABILITY.md, test technique 12.
import { execFile } from "node:child_process";
import { chownSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import pg from "pg";
import { startAgain, startPostgres, type TestServer } from "./test-postgres.ts";

const run = promisify(execFile);

/**
 * A commit is acknowledged when the standby has it, also by one that was promoted: it waits for its own.
 * What a killed process wrote the kernel has: only a power cut asks for more, and this is none.
 */
const settings = ["-c", "synchronous_standby_names=standby", "-c", "fsync=off"];

/** Files that belong to a running server, not to its data. */
const ofTheProcess = ["postmaster.pid", "postmaster.opts"];

export class PostgresPair {
  #primary: TestServer;
  #standby: TestServer;

  private constructor(primary: TestServer, standby: TestServer) {
    this.#primary = primary;
    this.#standby = standby;
  }

  static async start(): Promise<PostgresPair> {
    const primary = await startPostgres(settings);
    return new PostgresPair(primary, await standbyOf(primary));
  }

  /** Both, in no order that tells which is which for long. */
  get urls(): readonly string[] {
    return [this.#primary.url, this.#standby.url];
  }

  get primary(): TestServer {
    return this.#primary;
  }

  get standby(): TestServer {
    return this.#standby;
  }

  /** Kills the primary, and lets the standby take its place, which then has none. */
  async failOver(): Promise<void> {
    const killed = this.#primary;
    killed.process.ref();
    const ended = new Promise((resolve) => killed.process.once("exit", resolve));
    killed.process.kill("SIGKILL");
    await ended;
    await ask(this.#standby, "select pg_promote(true, 30)");
    this.#primary = this.#standby;
    remove(killed);
  }

  /** Gives the primary a standby again, in the place of one that was stopped. */
  async addStandby(): Promise<void> {
    if (this.#standby !== this.#primary) remove(this.#standby);
    this.#standby = await standbyOf(this.#primary);
  }

  async stop(): Promise<void> {
    for (const server of new Set([this.#standby, this.#primary])) {
      await server.crash();
      remove(server);
    }
  }
}

/** A standby out of a copy of the running primary's files. */
async function standbyOf(primary: TestServer): Promise<TestServer> {
  const directory = mkdtempSync(join(tmpdir(), "throughline-postgres-"));
  const { uid, gid } = statSync(primary.directory);
  const client = new pg.Client({ connectionString: primary.url });
  await client.connect();
  await client.query("select pg_backup_start('standby', true)");
  // A file that goes away meanwhile is none that the copy needs.
  await run("cp", ["-a", `${primary.directory}/.`, directory]).catch(() => undefined);
  const { rows } = await client.query("select labelfile from pg_backup_stop(false)");
  await client.end();
  const { port } = new URL(primary.url);
  const conninfo = `host=127.0.0.1 port=${port} user=postgres application_name=standby`;
  for (const [name, text] of Object.entries({
    "standby.signal": "",
    backup_label: String(rows[0]?.labelfile),
    "postgresql.auto.conf": `primary_conninfo = '${conninfo}'\n`,
  })) {
    writeFileSync(join(directory, name), text);
    chownSync(join(directory, name), uid, gid);
  }
  for (const name of ofTheProcess) rmSync(join(directory, name), { force: true });
  return startAgain(directory, settings);
}

async function ask(server: TestServer, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: server.url });
  await client.connect();
  await client.query(statement);
  await client.end();
}

/** Its last processes may still be ending. */
function remove({ directory }: TestServer): void {
  rmSync(directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
}

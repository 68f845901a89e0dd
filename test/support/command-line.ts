// The command line for tests: as a call in this process, and as a process of its own.
import assert from "node:assert/strict";
import {
  type ChildProcessWithoutNullStreams,
  type SpawnOptionsWithoutStdio,
  spawn,
} from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { PassThrough, Readable, Writable } from "node:stream";
import { after, type TestContext } from "node:test";
import { run } from "../../src/app/program.ts";
import { readEnvironment } from "../../src/cli/env.ts";
import type { EndSignal, Io } from "../../src/cli/io.ts";
import { compileCache, program } from "./program.ts";

/** The processes that a test started. */
const processes = new WeakMap<TestContext, Set<Child>>();

/** Kills what the test started, and waits until it is gone. */
async function endProcesses(t: TestContext): Promise<void> {
  const started = [...(processes.get(t) ?? [])];
  for (const { child } of started) child.kill("SIGKILL");
  await Promise.all(started.map((child) => child.ended()));
}

/** A directory that is gone after the test, as whatever the test started is before. */
export function temporaryDirectory(t: TestContext): string {
  const path = fs.mkdtempSync(join(tmpdir(), "throughline-cli-"));
  t.after(async () => {
    await endProcesses(t);
    fs.rmSync(path, { recursive: true, force: true });
  });
  return path;
}

/** A home that is filled for the first test of a file that asks for it. Each gets a copy of its own. */
export function copiesOf(
  fill: (home: string) => Promise<unknown>,
): (t: TestContext) => Promise<string> {
  const folder = fs.mkdtempSync(join(tmpdir(), "throughline-cli-"));
  after(() => fs.rmSync(folder, { recursive: true, force: true }));
  const template = join(folder, "home");
  let filled: Promise<unknown> | undefined;
  return async (t) => {
    filled ??= fill(template);
    await filled;
    const home = join(temporaryDirectory(t), "home");
    fs.cpSync(template, home, { recursive: true, preserveTimestamps: true });
    fs.chmodSync(home, 0o700);
    fs.rmSync(join(home, "lock.db"));
    return home;
  };
}

/** Keeps what is written, and tells when something is there. */
export class Collected extends Writable {
  text = "";
  readonly #waiting = new Set<() => void>();

  override _write(chunk: Buffer, _: string, done: (error?: Error) => void): void {
    this.text += chunk.toString();
    for (const look of this.#waiting) look();
    done();
  }

  /** Resolves as soon as this was written, at any time after `from` characters. */
  async has(words: string | RegExp, from = 0): Promise<void> {
    const isThere = () => {
      const text = this.text.slice(from);
      return typeof words === "string" ? text.includes(words) : words.test(text);
    };
    if (isThere()) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const look = () => isThere() && resolve();
    this.#waiting.add(look);
    await promise;
    this.#waiting.delete(look);
  }
}

export interface FakeIo extends Io {
  readonly output: Collected;
  readonly errors: Collected;
  readonly exits: readonly number[];
  signal(name: EndSignal): void;
}

/** @param input the lines of a pipe, or what a test types into. */
export function fakeIo(input: string | Readable = "", isInteractive = false): FakeIo {
  const listeners = new Set<(signal: EndSignal) => void>();
  const exits: number[] = [];
  return {
    input: typeof input === "string" ? Readable.from([input]) : input,
    ...{ output: new Collected(), errors: new Collected(), isInteractive, exits },
    onSignal(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    exitNow: (code) => void exits.push(code),
    signal: (name) => {
      for (const listener of listeners) listener(name);
    },
  };
}

/** A keyboard: what a test types, a line at a time. */
export function keyboard(): { readonly input: PassThrough; type(line: string): void } {
  const input = new PassThrough();
  return { input, type: (line) => void input.write(`${line}\n`) };
}

export interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

type Variables = Readonly<Record<string, string>>;

/** Nothing of the machine's own: no key, no home, no local model. */
export function variablesFor(home: string, more: Variables = {}): Variables {
  return { THROUGHLINE_HOME: home, THROUGHLINE_MODEL: "offline", LOG_LEVEL: "silent", ...more };
}

/** Runs a command line in this process. */
export async function runCli(
  args: readonly string[],
  options: { readonly home: string; readonly io?: FakeIo; readonly variables?: Variables },
): Promise<Ended> {
  const { io = fakeIo(), home } = options;
  const variables = variablesFor(home, options.variables);
  const code = await run(args, io, () => readEnvironment(variables, join(home, "..")));
  return { code, out: io.output.text, err: io.errors.text };
}

/** `serve` in this process, until the test stops it or ends. */
export async function serveHere(
  t: TestContext,
  home: string,
  args: readonly string[] = [],
  variables: Variables = {},
) {
  const io = fakeIo();
  const ended = runCli(["serve", "--port", "0", ...args], { home, io, variables });
  t.after(() => io.signal("SIGTERM"));
  const failed = ended.then(({ err }) => Promise.reject(new Error(err)));
  await Promise.race([io.output.has("listening"), failed]);
  failed.catch(() => undefined); // it may end as it likes from now on
  const stop = async () => {
    io.signal("SIGTERM");
    const { code, err } = await ended;
    assert.equal(code, 0, err);
  };
  return { io, url: /http:\/\/\S+/.exec(io.output.text)?.[0] ?? "", stop };
}

/** Posts JSON to a server. */
export function postTo(
  url: string,
  path: string,
  body: object,
  headers: Readonly<Record<string, string>> = {},
): Promise<Response> {
  return fetch(`${url}${path}`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  });
}

/** A process of its own; killed after its test, if it has one, if it is still there. */
export class Child {
  readonly child: ChildProcessWithoutNullStreams;
  readonly startedAt = performance.now();
  readonly out = new Collected();
  readonly err = new Collected();
  readonly #ended: Promise<Ended>;

  constructor(
    t: TestContext | undefined,
    command: string,
    args: readonly string[],
    options: SpawnOptionsWithoutStdio,
  ) {
    this.child = spawn(command, args, options);
    this.child.stdin.on("error", () => undefined); // it may end before it reads
    this.child.stdout.pipe(this.out);
    this.child.stderr.pipe(this.err);
    this.#ended = once(this.child, "close").then(([code]) => {
      return { code: code as number | null, out: this.out.text, err: this.err.text };
    });
    if (t === undefined) return;
    const started = processes.get(t) ?? new Set();
    processes.set(t, started.add(this));
    t.after(() => endProcesses(t));
  }

  /** Resolves when it has ended and all it wrote is read. */
  ended(input?: string): Promise<Ended> {
    if (input !== undefined) this.child.stdin.end(input);
    return this.#ended;
  }

  /** Resolves when it is gone, and all it wrote is read. */
  kill(signal: NodeJS.Signals = "SIGKILL"): Promise<Ended> {
    this.child.kill(signal);
    return this.#ended;
  }

  /** Resolves once it has printed this. Rejects if it ends without. */
  async prints(words: string | RegExp): Promise<void> {
    const ended = this.#ended.then(({ err }) => Promise.reject(new Error(`it ended: ${err}`)));
    await Promise.race([this.out.has(words), ended]);
  }

  /** What it prints from now on, line by line. */
  lines(): AsyncIterator<string> {
    return createInterface({ input: this.child.stdout })[Symbol.asyncIterator]();
  }
}

/** A command line in a process of its own. */
export class Process extends Child {
  constructor(
    t: TestContext | undefined,
    args: readonly string[],
    options: {
      readonly home: string;
      readonly variables?: Variables;
      readonly node?: readonly string[];
      readonly uid?: number;
    },
  ) {
    const { home, node = [], uid } = options;
    // A home of the user's own that is nobody's: what goes astray is seen.
    const env = {
      ...{ HOME: join(home, ".."), PATH: "", NODE_COMPILE_CACHE: compileCache },
      ...variablesFor(home, options.variables),
    };
    const user = uid === undefined ? {} : { uid, gid: uid };
    super(t, process.execPath, [...node, program, ...args], { env, ...user });
  }

  /** The address that `serve` prints. */
  async url(): Promise<string> {
    await this.prints("\n");
    return /http:\/\/\S+/.exec(this.out.text)?.[0] ?? "";
  }
}

/** All that the files of a folder hold, as Latin-1. */
export function bytesUnder(folder: string): string {
  return fs
    .readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => fs.readFileSync(join(entry.parentPath, entry.name), "latin1"))
    .join("\n");
}

import { type Timers, until } from "../core/timers.ts";
import { isAnswer } from "./error-class.ts";
import type {
  PostgresAnswer,
  PostgresClient,
  PostgresNotification,
  PostgresStatement,
  Row,
} from "./pool.ts";

/** Which server process serves a connection: its number and its start, as no other has both. */
export interface Backend {
  readonly pid: number;
  readonly startedAt: string;
}

/** A statement was not answered in time. The connection is of no use any more. */
export class DeadlineError extends Error {
  override readonly name = "DeadlineError";
}

/** Rejects when the promise takes longer; the promise goes on, and what it then does is ignored. */
export async function within<T>(promise: Promise<T>, timers: Timers, ms: number): Promise<T> {
  const answer = await until(
    promise.then((value) => ({ value })),
    { ms, timers },
  );
  if (answer === undefined) throw new DeadlineError(`no answer within ${Math.round(ms)} ms`);
  return answer.value;
}

/** One connection for as long as a piece of work needs it. Knows whether it may be used again. */
export class Connection {
  readonly backend: Backend | undefined;
  readonly #client: PostgresClient;
  readonly #timers: Timers;
  readonly #limitMs: () => number;
  #lost: readonly (() => void)[];
  #isBroken = false;
  #isInDoubt = false;
  #isReleased = false;
  readonly #losses: LossListener;

  constructor(
    client: PostgresClient,
    options: {
      readonly timers: Timers;
      /** How long the next statement may take. */
      readonly limitMs: () => number;
      readonly backend: Backend | undefined;
      /** As what `onLost` is given. */
      readonly onLost: () => void;
    },
  ) {
    this.#client = client;
    this.#timers = options.timers;
    this.#limitMs = options.limitMs;
    this.backend = options.backend;
    this.#lost = [options.onLost];
    this.#losses = lossListenerOf(client);
    this.#losses.current = this;
  }

  /** Whether it failed in a way after which nothing more is to be sent over it. */
  get isBroken(): boolean {
    return this.#isBroken;
  }

  /** Whether something was sent that may have been stored, and no answer came. */
  get isInDoubt(): boolean {
    return this.#isInDoubt;
  }

  /** Runs a statement that stores nothing by itself: a read, or one inside a transaction. */
  async run(statement: PostgresStatement): Promise<readonly Row[]> {
    return (await this.#send(statement, () => undefined)).rows;
  }

  /** Runs a statement that commits: without an answer the outcome is unknown. */
  store(statement: PostgresStatement): Promise<PostgresAnswer> {
    this.#isInDoubt = true;
    return this.#send(statement, () => {
      this.#isInDoubt = false;
    });
  }

  /** An answer that comes too late is ignored. */
  async #send(statement: PostgresStatement, answered: () => void): Promise<PostgresAnswer> {
    const limitMs = this.#limitMs();
    try {
      if (limitMs <= 0) throw new DeadlineError("no time is left");
      const answer = await within(this.#client.query(statement), this.#timers, limitMs);
      answered();
      return answer;
    } catch (error) {
      if (isAnswer(error)) answered();
      else this.lose();
      throw error;
    }
  }

  onNotification(listener: (message: PostgresNotification) => void): void {
    this.#client.on("notification", listener);
  }

  /** Calls back once, when the connection ended or failed; at once if it did already. */
  onLost(listener: () => void): void {
    if (this.#isBroken) listener();
    else this.#lost = [...this.#lost, listener];
  }

  /** Gives it back to the pool, or closes it: when it is broken, or when `close` says so. */
  release(close = false): void {
    if (this.#isReleased) return;
    this.#isReleased = true;
    // From here on its end is the pool's affair: an idle connection may be closed at any time.
    this.#losses.current = undefined;
    this.#client.release(close || this.#isBroken);
  }

  /** Its client ended or failed. */
  lose(): void {
    if (this.#isBroken) return;
    this.#isBroken = true;
    for (const listener of this.#lost) listener();
  }
}

/** Stands on a client for as long as it lives: an error without a listener ends the process. */
interface LossListener {
  /** The connection that the client serves now. */
  current: Connection | undefined;
}

const lossListeners = new WeakMap<PostgresClient, LossListener>();

/** The one of this client, whatever else uses the pool. */
export function lossListenerOf(client: PostgresClient): LossListener {
  const known = lossListeners.get(client);
  if (known !== undefined) return known;
  const losses: LossListener = { current: undefined };
  lossListeners.set(client, losses);
  client.on("error", () => losses.current?.lose());
  client.on("end", () => losses.current?.lose());
  return losses;
}

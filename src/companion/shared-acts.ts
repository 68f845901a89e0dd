import { hashOf } from "../core/chat/tombstones.ts";
import { errorName, ThroughlineError } from "../core/errors.ts";
import type { Logger } from "../core/logger.ts";
import type { ActLog } from "./act-log.ts";
import type { Act } from "./acts.ts";
import type { BootClock } from "./boot-clock.ts";
import type { Position } from "./companion-document.ts";
import { type FeltEvent, foldRead, type Life } from "./fold.ts";

/** An act of another process, and what it did. */
export interface FoldedAct {
  readonly act: Act;
  readonly felt: readonly FeltEvent[];
  readonly before: Life;
  readonly life: Life;
}

interface SharedActsPorts {
  readonly clock: BootClock;
  readonly logger: Logger;
  /** Others did this, and `life` is what all acts make, those of this process that wait among them. */
  readonly onOthers: (others: readonly FoldedAct[], life: Life) => void;
  /** Wakes the other processes: there are acts to read. */
  readonly publish: () => void;
  /** The newest snapshot, and the log from there on: what was read last is not there any more. */
  readonly reload: () => Promise<{ readonly life: Life; readonly log: ActLog | undefined }>;
}

/** Records of one append: with the longest texts they stay below what an append may hold. */
const batchActs = 50;
/** Until an append or a read that failed is tried again, in milliseconds. */
const pauseMs = 1_000;
/** A log that is longer is continued in another, so that what a snapshot covers can be removed. */
const longestLog = 1_000;
/** A process that receives no messages reads on this often, in milliseconds. */
const readOnEveryMs = 10_000;

/**
 * The acts of a companion that several processes have. What happens here is done here at once, and waits
 * until it is in the log; what others appended before that comes before it. So after any exchange all
 * processes have folded the same acts in the same order.
 */
export class SharedActs {
  readonly #ports: SharedActsPorts;
  #log: ActLog;
  /** What the acts in the log make, up to where it was read. */
  #confirmed: Life;
  /** Done here and not in the log yet. */
  #pending: readonly Act[] = [];
  #turn: Promise<unknown> = Promise.resolve();
  #isAppending = false;
  #nextAt: number;
  #hasFailed = false;

  constructor(ports: SharedActsPorts, log: ActLog, life: Life) {
    this.#ports = ports;
    this.#log = log;
    this.#confirmed = life;
    this.#nextAt = ports.clock.monotonic() + readOnEveryMs;
  }

  get confirmed(): Life {
    return this.#confirmed;
  }

  /** Up to where the log is folded. */
  get position(): Position {
    return this.#log.position;
  }

  /** It happened here: it goes into the log as soon as it can. */
  add(act: Act): void {
    this.#pending = [...this.#pending, act];
    if (this.#isAppending || this.#hasFailed) return;
    this.#isAppending = true;
    this.#tried(this.flush());
  }

  /** By the monotonic clock: what failed is tried again, and what was missed is read. */
  tick(now: number): void {
    if (now < this.#nextAt) return;
    this.#nextAt = now + readOnEveryMs;
    this.#tried(this.flush());
  }

  /** Reads what others appended: they said so, or a notification may have been missed. */
  wake(): void {
    this.#tried(this.flush());
  }

  /** Resolves once all that happened here is in the log, and all that others appended before is folded. */
  flush(): Promise<void> {
    return this.#inTurn(async () => {
      await this.#readOn();
      this.#isAppending = false;
      let published = 0;
      while (this.#pending.length > 0) {
        const batch = this.#pending.slice(0, batchActs);
        if (await this.#log.append(batch)) {
          for (const act of batch) this.#confirmed = foldRead(this.#confirmed, act).life;
          this.#pending = this.#pending.slice(batch.length);
          published += batch.length;
        } else await this.#readOn();
      }
      if (published > 0) this.#ports.publish();
    });
  }

  /**
   * For the leader, after a snapshot: removes what it covers, and continues in a new log where this one
   * is long.
   *
   * @param covered where the snapshot was taken: another leader may have continued the log since.
   * @param first what that begins with.
   */
  compact(
    covered: Position,
    first: (life: Life) => readonly Act[],
    end: (next: string) => Act,
  ): Promise<void> {
    return this.#inTurn(async () => {
      await this.#log.removeOlder(covered);
      if (this.#log.position.seq < longestLog) return;
      // None of them moves the clock of the emotions.
      const { at: felt } = this.#confirmed.emotions;
      const acts = first(this.#confirmed).map((act) => ({ ...act, felt }));
      await this.#log.continueWith(acts, (next) => ({ ...end(next), felt }));
    });
  }

  /** Does something with the log while nothing is appended to it here. */
  alone<T>(work: () => Promise<T>): Promise<T> {
    return this.#inTurn(work);
  }

  async #readOn(): Promise<void> {
    const read = await this.#log.readOn();
    if (read === undefined) {
      const { life, log } = await this.#ports.reload();
      if (log === undefined) {
        throw new ThroughlineError("the log of acts is gone", { code: "THROUGHLINE_UNAVAILABLE" });
      }
      this.#log = log;
      this.#confirmed = life;
      this.#ports.onOthers([], this.#withPending());
      return;
    }
    const others: FoldedAct[] = [];
    for (const { act } of read) {
      if (act === undefined) continue;
      const before = this.#confirmed;
      const { life, felt } = foldRead(before, act);
      this.#confirmed = life;
      // An append of which it was not known whether it was stored.
      if (this.#pending.some(({ id }) => id === act.id))
        this.#pending = without(this.#pending, act);
      else others.push({ act, felt, before, life });
      if (act.kind === "forgot") {
        const { hash, at } = act;
        const isOf = (each: Act) => "chat" in each && each.at <= at && hashOf(each.chat) === hash;
        this.#pending = this.#pending.filter((each) => !isOf(each));
      }
    }
    if (others.length > 0) this.#ports.onOthers(others, this.#withPending());
  }

  #withPending(): Life {
    return this.#pending.reduce((life, act) => foldRead(life, act).life, this.#confirmed);
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#turn.then(work);
    this.#turn = result.catch(() => undefined); // the caller gets the error
    return result;
  }

  #tried(work: Promise<void>): void {
    const { clock, logger } = this.#ports;
    work.then(
      () => {
        this.#hasFailed = false;
      },
      (error) => {
        this.#isAppending = false;
        this.#nextAt = clock.monotonic() + pauseMs;
        if (!this.#hasFailed) logger.warn({ error: errorName(error) }, "acts wait to be stored");
        this.#hasFailed = true;
      },
    );
  }
}

function without(acts: readonly Act[], { id }: Act): readonly Act[] {
  return acts.filter((act) => act.id !== id);
}

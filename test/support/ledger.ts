// What was asked of a storage, what became of each act, and so what the storage may hold.
import assert from "node:assert/strict";
import { isThroughlineError } from "../../src/core/errors.ts";
import {
  type Act,
  type Allowed,
  actsOf,
  keys,
  type LogModel,
  logAfter,
  type Opened,
  perform,
  type SingleAct,
  type Step,
} from "./storage-workload.ts";

/** `refused`: nothing was stored. `unknown`: stored or not, as its error says. */
type Fate = "pending" | "done" | "refused" | "unknown";

interface Noted {
  readonly act: SingleAct;
  readonly fate: Fate;
}

/** The ledger of a moment: it does not change. */
export interface Told {
  readonly noted: readonly Noted[];
  /** Whether a call of the disk failed. */
  readonly hasFailed: boolean;
}

export const nothingTold: Told = { noted: [], hasFailed: false };

export class Ledger {
  refusals = 0;
  #noted: readonly Noted[];
  readonly #hasFailed: () => boolean;
  readonly #changed: (told: Told) => void;

  /** @param changed is called with what is known after each change. */
  constructor(
    hasFailed: () => boolean = () => false,
    changed: (told: Told) => void = () => undefined,
    { noted }: Told = nothingTold,
  ) {
    this.#hasFailed = hasFailed;
    this.#changed = changed;
    this.#noted = noted;
  }

  get told(): Told {
    return { noted: this.#noted, hasFailed: this.#hasFailed() };
  }

  /** Does a step. Resolves when each of its acts is settled, one way or the other. */
  async perform(opened: Opened, step: Step): Promise<void> {
    let nth = this.begin(step);
    const queues = step.do === "together" ? step.queues : [actsOf(step)];
    const apart = step.do === "together" ? (step.apart ?? 0) : 0;
    const numbered = queues.map((acts) => acts.map((act) => ({ act, nth: nth++ })));
    await Promise.all(
      numbered.map(async (acts) => {
        const begun: Promise<void>[] = [];
        for (const { act, nth: own } of acts) {
          const settle = (error?: unknown) => this.settle(own, error);
          const failed = (error: unknown) => settle(error ?? new Error("nothing was thrown"));
          begun.push(perform(opened, act).then(() => settle(), failed));
          for (let i = 0; i < apart; i++) await Promise.resolve();
        }
        await Promise.all(begun);
      }),
    );
  }

  /** Notes a step that could not begin, as its home cannot be opened. */
  refuse(step: Step, error: unknown): void {
    const first = this.begin(step);
    for (const i of actsOf(step).keys()) this.settle(first + i, error);
  }

  /** @returns the number of its first act. */
  begin(step: Step): number {
    const first = this.#noted.length;
    const pending = actsOf(step).map((act) => ({ act, fate: "pending" as const }));
    this.#noted = [...this.#noted, ...pending];
    this.#changed(this.told);
    return first;
  }

  /** @param error what the act rejected with. Without one it is done. */
  settle(nth: number, error?: unknown): void {
    const noted = this.#noted[nth];
    if (noted === undefined) return;
    const fate = fateOf(error);
    if (fate === "refused") this.refusals++;
    this.#noted = this.#noted.with(nth, { ...noted, fate });
    this.#changed(this.told);
  }

  /** Deletes the logs of which a deletion said that it is to be repeated: until then they are refused. */
  async settleDeletions(opened: Opened): Promise<void> {
    for (const { act, fate } of this.#noted) {
      if (act.do === "delete" && fate === "unknown") await this.perform(opened, act);
    }
  }
}

function fateOf(error: unknown): Fate {
  if (error === undefined) return "done";
  assert.ok(isThroughlineError(error), String(error));
  if (error.code === "THROUGHLINE_OUTCOME_UNKNOWN") return "unknown";
  assert.match(error.code, /UNAVAILABLE|CONFIGURATION/, String(error));
  return "refused";
}

/** A state, and whether an act before it is taken to have been cut off, with all that come after it. */
interface Branch<S> {
  readonly state: S;
  readonly isCut: boolean;
}

/**
 * What may be there. Of acts under way the first few are, unless a call of the disk failed: then any of them
 * may be refused.
 */
function statesAfter<S, A>(
  empty: S,
  noted: readonly { readonly act: A; readonly fate: Fate }[],
  hasFailed: boolean,
  apply: (state: S, act: A) => S,
): readonly S[] {
  let branches: readonly Branch<S>[] = [{ state: empty, isCut: false }];
  for (const { act, fate } of noted) {
    if (fate === "refused") continue;
    const alive = branches.filter(({ isCut }) => !isCut);
    const applied = alive.map(({ state }) => ({ state: apply(state, act), isCut: false }));
    const isPrefix = fate === "pending" && !hasFailed;
    const skipped = isPrefix ? branches.map(({ state }) => ({ state, isCut: true })) : branches;
    branches = distinct(fate === "done" ? applied : [...applied, ...skipped]);
  }
  return distinct(branches.map(({ state }) => state));
}

function distinct<T>(items: readonly T[]): readonly T[] {
  if (items.length === 1) return items;
  return [...new Map(items.map((item) => [JSON.stringify([item]), item])).values()];
}

const known = new WeakMap<Told, Allowed>();

/** What a storage may hold. */
export function allowedBy(told: Told): Allowed {
  const found = known.get(told);
  if (found !== undefined) return found;
  const { noted, hasFailed } = told;
  const logs: Record<string, readonly LogModel[]> = {};
  for (const key of keys) {
    const acts = noted.flatMap(({ act, fate }) =>
      isOfLog(act) && act.key === key ? [{ act, fate }] : [],
    );
    logs[key] = statesAfter([], acts, hasFailed, logAfter);
  }
  const written = noted.flatMap(({ act, fate }) => (isOfLog(act) ? [] : [{ act, fate }]));
  const documents = statesAfter<number | undefined, (typeof written)[number]["act"]>(
    undefined,
    written,
    hasFailed,
    (_, act) => (act.do === "write" ? act.value : undefined),
  );
  const allowed = { logs, documents };
  known.set(told, allowed);
  return allowed;
}

const isOfLog = (act: SingleAct): act is Act =>
  act.do === "append" || act.do === "erase" || act.do === "delete";

/**
 * The records whose words must be in no file: those that were erased, and of a log that was deleted all that
 * were ever to be stored in it.
 */
export function forgottenIn({ noted }: Told): readonly string[] {
  const forgotten = new Set<string>();
  for (const [nth, { act, fate }] of noted.entries()) {
    if (fate !== "done" || !(act.do === "delete" || act.do === "erase")) continue;
    for (const before of noted.slice(0, nth)) {
      if (before.act.do !== "append" || before.act.key !== act.key) continue;
      const { batch } = before.act;
      if (act.do === "delete") for (const id of batch) forgotten.add(id);
      else if (before.fate === "done" && batch.includes(act.id)) forgotten.add(act.id);
    }
  }
  return [...forgotten];
}

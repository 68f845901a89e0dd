import { matches, type S3Operation } from "./s3-journal.ts";

/** What happens to a request in place of its answer, or beside it. */
export type S3FaultKind =
  /** Answers with this error, nothing is done. */
  | {
      readonly kind: "error";
      readonly status: number;
      readonly code: string;
      /** @default code */
      readonly message?: string;
      readonly headers?: Readonly<Record<string, string>>;
    }
  /** The connection is reset before the body was read; nothing is done. */
  | { readonly kind: "reset" }
  /** The connection is reset when half of the body has come; nothing is done. */
  | { readonly kind: "reset_in_body" }
  /** It is done, and the connection is reset before the answer. */
  | { readonly kind: "lose_reply" }
  /** It is done, and the answer stops in the middle of its body or head. */
  | { readonly kind: "cut_reply" }
  /** Nothing is done and nothing is ever answered. */
  | { readonly kind: "hang" }
  /** It is done; the answer comes one byte a second. */
  | { readonly kind: "drip" }
  /** It is done and answered so many milliseconds a byte of the request later: a slow link. */
  | { readonly kind: "slow"; readonly msPerByte: number; readonly atLeastMs?: number }
  /** A captive portal: 200 with a page of HTML. Nothing is done. */
  | { readonly kind: "portal" }
  /** 200 whose body is an error. Nothing is done. */
  | { readonly kind: "error_in_200" };

export interface S3Fault {
  /** Only requests of this operation. Default: all. */
  readonly operation?: S3Operation;
  /** Only requests for this key; of a list, its prefix. Default: all. */
  readonly key?: string | RegExp;
  /** The first one that is met, counted from 1 over those that fit. @default 1 */
  readonly nth?: number;
  /** How many in a row are met. @default 1 */
  readonly times?: number;
  readonly does: S3FaultKind;
}

/** Chooses, by counting, which requests go wrong. */
export class S3FaultPlan {
  #faults: { readonly fault: S3Fault; seen: number }[] = [];
  /** How many requests went wrong so far. */
  met = 0;

  add(...faults: readonly S3Fault[]): void {
    this.#faults.push(...faults.map((fault) => ({ fault, seen: 0 })));
  }

  /** From now on nothing goes wrong. */
  heal(): void {
    this.#faults = [];
  }

  /** Counts the request for every fault; the first that it meets decides. */
  judge(operation: S3Operation | "unknown", key: string): S3FaultKind | undefined {
    let verdict: S3FaultKind | undefined;
    for (const counter of this.#faults) {
      const { fault } = counter;
      if (fault.operation !== undefined && fault.operation !== operation) continue;
      if (fault.key !== undefined && !matches(key, fault.key)) continue;
      counter.seen++;
      const first = fault.nth ?? 1;
      const isMet = counter.seen >= first && counter.seen < first + (fault.times ?? 1);
      if (isMet) verdict ??= fault.does;
    }
    if (verdict !== undefined) this.met++;
    return verdict;
  }
}

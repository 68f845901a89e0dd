import type { DropReason } from "./injection-queue.ts";

export interface InjectOptions {
  /**
   * Delivered for certain: kept through restarts until the model acknowledged it, and not dropped
   * once it was taken in. When the model refuses it three times, others go before it until there is
   * another voice stream.
   *
   * @default false
   */
  readonly mustDeliver?: boolean;
  /**
   * Names the text, 1 to 200 characters: one id is delivered once. See `Injector.inject`.
   *
   * @default a new one
   */
  readonly id?: string;
}

/**
 * - `delivered`: the model acknowledged it.
 * - `merged`: goes into the next injection, with what else comes until then.
 * - `queued`: waits for the stream to be connected and silent, or to take what it did not take.
 * - `dropped`: will not be delivered. `queue_full`: the oldest ordinary texts go first, and one that
 *   must be delivered is refused when others like it fill the queue. `rejected`: the model refused an
 *   ordinary text three times.
 */
export type InjectionResult =
  | { readonly kind: "delivered" | "merged" | "queued" }
  | { readonly kind: "dropped"; readonly reason: DropReason };

export interface Injection {
  readonly id: string;
  /**
   * What can be said now: `delivered` where the stream took it at once. With `merged` and `queued` a
   * text that must be delivered is kept: it survives the process from here. Never rejects.
   */
  readonly result: Promise<InjectionResult>;
  /**
   * How it ended: `delivered` or `dropped`. `queued` only when the injector was closed before: the
   * next run delivers it. Never rejects.
   */
  readonly outcome: Promise<InjectionResult>;
}

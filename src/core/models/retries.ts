import { APICallError } from "ai";
import { until } from "../timers.ts";
import { refusalOf } from "./refusals.ts";

interface RetryOptions {
  readonly maxRetries: number;
  readonly signal: AbortSignal | undefined;
  /** Called before each wait. */
  readonly onWait: (wait: Wait) => void;
}

export interface Wait {
  /** The number of the call that follows the wait: 2 for the first retry. */
  readonly attempt: number;
  readonly waitMs: number;
  /** What the call before failed with. */
  readonly error: unknown;
}

/** The longest wait that a provider may ask for, in milliseconds. */
export const longestWaitMs = 60_000;
const firstWaitMs = 2_000;

/**
 * Makes a call, and makes it again when it fails in a way that may pass: a rate limit, a fault of the
 * server, a connection that fails. Waits as long as the provider asks for, else 2 s and then twice as
 * long each time. A provider that asks for more than a minute is not called again.
 *
 * Rejects with the last error, or with the signal's reason.
 */
export async function withRetries<T>(
  call: () => PromiseLike<T>,
  { maxRetries, signal, onWait }: RetryOptions,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await call();
    } catch (error) {
      const waitMs = requestedWaitMs(error) ?? firstWaitMs * 2 ** (attempt - 1);
      const isFault = APICallError.isInstance(error) && error.isRetryable;
      const { means = "" } = refusalOf(error) ?? {};
      const mayPass = isFault && !["too_long", "pictures"].includes(means);
      if (!mayPass || attempt > maxRetries || waitMs > longestWaitMs) throw error;
      onWait({ attempt: attempt + 1, waitMs, error });
      await until(new Promise(() => undefined), { ms: waitMs, signal });
      signal?.throwIfAborted();
    }
  }
}

/**
 * How long a provider asks to wait, by `retry-after-ms` (OpenAI's) or `retry-after`. A date counts from
 * the answer's own `date`, so that the clock of this machine may be wrong.
 */
export function requestedWaitMs(error: unknown): number | undefined {
  const headers = APICallError.isInstance(error) ? (error.responseHeaders ?? {}) : {};
  const exact = numberOf(headers["retry-after-ms"]);
  const seconds = numberOf(headers["retry-after"]);
  if (exact !== undefined) return exact;
  if (seconds !== undefined) return seconds * 1_000;
  const until = Date.parse(headers["retry-after"] ?? "") - Date.parse(headers["date"] ?? "");
  return until >= 0 ? until : undefined;
}

function numberOf(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,9}(?:\.\d+)?$/.test(text) ? Number(text) : undefined;
}

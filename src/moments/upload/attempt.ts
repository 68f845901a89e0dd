import type { UploadError } from "../package/record.ts";
import { classify, type ErrorClass, isTargetAway } from "../s3/error-class.ts";
import { S3Error } from "../s3/s3-error.ts";
import { UploadStop } from "../s3/upload-stop.ts";

/** Why an attempt failed; never what anybody said. */
export interface AttemptError extends UploadError {
  readonly class: ErrorClass | UploadStop["class"] | "local_io";
  /** The region that the service named as the right one. */
  readonly region?: string | undefined;
}

/**
 * A failed attempt, and what waits for it: `package`, this one alone; `target`, everything, because the
 * service is away or says no to us; `dead`: it is not tried again by itself.
 */
export interface Failure {
  readonly error: AttemptError;
  readonly waits: "package" | "target" | "dead";
}

/** Nothing was tried: this process is ending, or something else came first. */
export const stoppedError: AttemptError = { class: "retry", code: "Stopped", status: null };

export function failureOf(error: unknown): Failure {
  if (error instanceof UploadStop) {
    const waits = error.class === "incomplete" ? "package" : "dead";
    return { error: { class: error.class, code: null, status: null }, waits };
  }
  if (!(error instanceof S3Error)) {
    return { error: { class: "local_io", code: codeOf(error), status: null }, waits: "package" };
  }
  const kind = classify(error);
  const { code, region, status = null } = error;
  const failed = { class: kind, code, status, region };
  if (kind === "conflict" || kind === "rejected") return { error: failed, waits: "dead" };
  const isOwn = kind === "retry" && !isTargetAway(error);
  return { error: failed, waits: isOwn ? "package" : "target" };
}

function codeOf(error: unknown): string {
  if (typeof error === "object" && error !== null && "code" in error) return String(error.code);
  return error instanceof Error ? error.name : "unknown";
}

/** A random number from 0 up to, and without, 1. Passed in, so that a seed can replay a run. */
export type Jitter = () => number;

export const systemJitter: Jitter = () =>
  (globalThis.crypto.getRandomValues(new Uint32Array(1))[0] ?? 0) / 2 ** 32;

const firstMs = 1_000;
const ceilingMs = 300_000;

/**
 * How long to wait after the `failures`-th failure in a row, in milliseconds: 1 s, doubling up to
 * 300 s, of which a random part is waited.
 *
 * Source: "Exponential backoff and jitter", AWS Architecture Blog (2015): full jitter.
 */
export function backoffMs(failures: number, jitter: Jitter): number {
  return Math.ceil(Math.min(firstMs * 2 ** Math.max(failures - 1, 0), ceilingMs) * jitter());
}

import type { UploadError } from "../package/package-format.ts";
import { classify, type ErrorClass, isSlowDown, isTargetAway } from "../s3/error-class.ts";
import { S3Error } from "../s3/s3-port.ts";
import { type StopClass, UploadStop } from "../s3/upload-stop.ts";
import { backoff } from "./target-state.ts";

/** Why an attempt failed; never what anybody said. */
export interface AttemptError extends UploadError {
  readonly class: ErrorClass | StopClass | "local_io";
  /** The region that the service named as the right one. */
  readonly region?: string | undefined;
}

/** What a failed attempt means. */
export type Outcome =
  | {
      readonly kind: "retry";
      readonly error: AttemptError;
      /** The whole target waits, not this package alone. */
      readonly isAway: boolean;
      /** The service was reached, so others go first: it may be this package that it cannot take. */
      readonly goesBehind: boolean;
      /** What the service asked for, at most an hour. */
      readonly atLeastMs: number;
    }
  | { readonly kind: "yield" }
  | { readonly kind: "failed"; readonly error: AttemptError }
  | { readonly kind: "target_refused"; readonly error: AttemptError };

/** Nothing was tried: this process is ending. */
export const closedError: AttemptError = { class: "retry", code: "Closed", status: null };

export function errorOf(outcome: Outcome): AttemptError {
  return outcome.kind === "yield" ? closedError : outcome.error;
}

export function outcomeOf(error: unknown): Outcome {
  if (error instanceof UploadStop) return outcomeOfStop(error);
  if (error instanceof S3Error) return outcomeOfAnswer(error);
  const failure = { class: "local_io", code: codeOf(error), status: null } as const;
  return { kind: "retry", error: failure, isAway: false, goesBehind: true, atLeastMs: 0 };
}

function outcomeOfStop(stop: UploadStop): Outcome {
  const cause = stop.cause instanceof S3Error ? stop.cause : undefined;
  const { code = null, status = null } = cause ?? {};
  const error = { class: stop.class, code, status: status ?? null };
  if (stop.class === "yield") return { kind: "yield" };
  if (stop.class === "encryption_refused") return { kind: "target_refused", error };
  if (stop.class !== "incomplete") return { kind: "failed", error };
  return { kind: "retry", error, isAway: false, goesBehind: true, atLeastMs: 0 };
}

function outcomeOfAnswer(failure: S3Error): Outcome {
  const kind = classify(failure);
  const { code, region, status = null } = failure;
  const error = { class: kind, code, status, region };
  switch (kind) {
    case "retry": {
      const isAway = isTargetAway(failure) || isSlowDown(failure);
      const goesBehind = failure.kind === "answer";
      const atLeastMs = Math.min(failure.retryAfterMs ?? 0, backoff.hourMs);
      return { kind: "retry", error, isAway, goesBehind, atLeastMs };
    }
    case "conflict":
    case "digest":
    case "rejected":
    case "optional_header":
      return { kind: "failed", error };
    default:
      return { kind: "target_refused", error };
  }
}

function codeOf(error: unknown): string {
  if (typeof error === "object" && error !== null && "code" in error) return String(error.code);
  return error instanceof Error ? error.name : "unknown";
}

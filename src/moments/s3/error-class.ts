import type { S3Error, S3ErrorKind } from "./s3-error.ts";

/** What a failed request means for what comes next. */
export type ErrorClass =
  /** It may pass by itself: try again, later each time. */
  | "retry"
  /** The clocks are apart: the same client corrects itself, so try again at once. */
  | "clock"
  /** Look the credentials up again, and try once more. */
  | "expired"
  /** The service knows us and says no, or is not who it should be. */
  | "refused"
  /** No such bucket, or another region. */
  | "bucket"
  /** Something is at the key already. */
  | "conflict"
  /** Retrying will never succeed. */
  | "rejected"
  | "no_credentials"
  | "no_client";

interface Row {
  readonly kind?: readonly S3ErrorKind[];
  readonly status?: (status: number) => boolean;
  readonly code?: RegExp;
  readonly class: ErrorClass;
}

/** The first row that fits decides. Source: what AWS, Ceph and Swift were seen to answer. */
const rows: readonly Row[] = [
  { kind: ["no_client"], class: "no_client" },
  { kind: ["no_credentials"], class: "no_credentials" },
  { kind: ["certificate"], class: "refused" },
  { kind: ["connection", "timeout", "hollow"], class: "retry" },
  { code: /^(RequestTimeTooSkewed|RequestInTheFuture)$/, class: "clock" },
  { code: /^(ExpiredToken|ExpiredTokenException|TokenRefreshRequired)$/, class: "expired" },
  {
    code: /^(InvalidAccessKeyId|SignatureDoesNotMatch|InvalidToken|BucketAlreadyExists)$/,
    class: "refused",
  },
  { code: /^(NoSuchBucket|AuthorizationHeaderMalformed|PermanentRedirect)$/, class: "bucket" },
  { code: /LocationConstraint/, class: "bucket" },
  // Damaged on the way: what is here was compared before it was sent.
  { code: /^(BadDigest|XAmzContent\w*Mismatch|IncompleteBody)$/, class: "retry" },
  { code: /^(SlowDown|RequestTimeout|TooManyRequests|Throttling\w*)$/, class: "retry" },
  { status: (status) => status === 412, class: "conflict" },
  { status: (status) => status === 401 || status === 403, class: "refused" },
  { status: (status) => status >= 300 && status < 400, class: "bucket" },
  { status: (status) => status === 408 || status === 409 || status === 429, class: "retry" },
  { status: (status) => status >= 500 && status !== 501, class: "retry" },
];

/** Says what a failed request means. What no row knows is `rejected`: it is never taken for success. */
export function classify(error: S3Error): ErrorClass {
  return rows.find((row) => fits(row, error))?.class ?? "rejected";
}

function fits({ kind, code, status }: Row, error: S3Error): boolean {
  if (kind !== undefined && !kind.includes(error.kind)) return false;
  if (code !== undefined && !code.test(error.code)) return false;
  return status === undefined || (error.status !== undefined && status(error.status));
}

/** Whether a failure that may pass is that of the whole service, not of this package alone. */
export function isTargetAway({ kind, status = 0, code }: S3Error): boolean {
  if (kind !== "answer" || status >= 500 || status === 429) return true;
  return /^(SlowDown|TooManyRequests|Throttling\w*)$/.test(code);
}

import type { S3Error, S3ErrorKind } from "./s3-port.ts";

/** What a failed request means for what comes next. */
export type ErrorClass =
  /** It may pass by itself: try again, later each time. */
  | "retry"
  /** The clocks are apart: the same client object corrects itself, so try again at once. */
  | "clock"
  /** Look the credentials up again, and try once more. */
  | "expired"
  /** The service knows us and says no, or is not who it should be: uploads to the target have failed, loudly. */
  | "refused"
  /** No such bucket, or another region: uploads to the target have failed. */
  | "bucket"
  /** What arrived is not what was sent: read the file again and compare. */
  | "digest"
  /** Something is at the key already. */
  | "conflict"
  /** Perhaps an optional header is not understood: find out by leaving it away. */
  | "optional_header"
  /** Retrying will never succeed: the upload has failed. */
  | "rejected"
  | "no_credentials"
  | "no_client";

/** The optional headers that a request carried. */
export interface OptionalHeaders {
  readonly condition: boolean;
  readonly checksum: boolean;
  readonly encryption: boolean;
}
export const noOptionalHeaders: OptionalHeaders = {
  condition: false,
  checksum: false,
  encryption: false,
};

interface Row {
  readonly kind?: S3ErrorKind | readonly S3ErrorKind[];
  readonly status?: number | ((status: number) => boolean);
  readonly code?: RegExp;
  /** Only for requests with an optional header. */
  readonly optional?: true;
  readonly class: ErrorClass;
}

/** The first row that fits decides. Source: what AWS, Ceph, Swift and others were seen to answer. */
const rows: readonly Row[] = [
  { kind: "no_client", class: "no_client" },
  { kind: "no_credentials", class: "no_credentials" },
  { kind: "certificate", class: "refused" },
  { kind: ["connection", "timeout", "hollow"], class: "retry" },
  { code: /^(RequestTimeTooSkewed|RequestInTheFuture)$/, class: "clock" },
  { code: /^(ExpiredToken|ExpiredTokenException|TokenRefreshRequired)$/, class: "expired" },
  { code: /^(InvalidAccessKeyId|SignatureDoesNotMatch|InvalidToken)$/, class: "refused" },
  { code: /^(NoSuchBucket|AuthorizationHeaderMalformed|PermanentRedirect)$/, class: "bucket" },
  { code: /LocationConstraint/, class: "bucket" },
  { code: /^(BadDigest|XAmzContent\w*Mismatch|IncompleteBody)$/, class: "digest" },
  { code: /^(SlowDown|RequestTimeout|TooManyRequests|Throttling\w*)$/, class: "retry" },
  { status: 412, class: "conflict" },
  { status: 411, optional: true, class: "optional_header" },
  { status: 501, optional: true, class: "optional_header" },
  { status: 400, code: /^InvalidRequest$/, optional: true, class: "optional_header" },
  { status: (status) => status === 401 || status === 403, class: "refused" },
  { status: (status) => status >= 300 && status < 400, class: "bucket" },
  { status: 408, class: "retry" },
  { status: 409, class: "retry" },
  { status: 429, class: "retry" },
  { status: 501, class: "rejected" },
  { status: (status) => status >= 500, class: "retry" },
];

/** What a failed request means. What no row knows is `rejected`: it is never taken for success. */
export function classify(error: S3Error, sent: OptionalHeaders = noOptionalHeaders): ErrorClass {
  const hasOptional = sent.condition || sent.checksum || sent.encryption;
  const row = rows.find((candidate) => fits(candidate, error, hasOptional));
  return row?.class ?? "rejected";
}

function fits(row: Row, error: S3Error, hasOptional: boolean): boolean {
  if (row.kind !== undefined && ![row.kind].flat().includes(error.kind)) return false;
  if (row.code !== undefined && !row.code.test(error.code)) return false;
  if (row.optional === true && !hasOptional) return false;
  if (row.status === undefined) return true;
  if (error.status === undefined) return false;
  return typeof row.status === "number" ? row.status === error.status : row.status(error.status);
}

/** Whether a failure says that the whole service is away, not this package alone. */
export function isTargetAway(error: S3Error): boolean {
  if (error.kind === "answer") return error.status !== undefined && error.status >= 500;
  return error.kind === "connection" || error.kind === "timeout" || error.kind === "hollow";
}

/** Whether the service asks for fewer requests at once. */
export function isSlowDown(error: S3Error): boolean {
  return error.status === 429 || /^(SlowDown|TooManyRequests|Throttling\w*)$/.test(error.code);
}

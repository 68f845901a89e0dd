// Why something was not sent, and what that means for what comes next.
import { codeOf } from "../directory/names.ts";
import type { UploadError } from "../package/record.ts";

/**
 * What waits after a failure: `package`, this one alone; `target`, everything, because the service is unavailable or
 * refuses us; `dead`: it is not tried again by itself.
 */
const classes = {
  /** It may pass by itself: try again, later each time. */
  retry: "target",
  /** The clocks differ: the same client corrects itself, so try again at once. */
  clock: "target",
  /** Look the credentials up again, and try once more. */
  expired: "target",
  /** The service knows us and says no, or is not who it should be. */
  refused: "target",
  /** No such bucket, or another region. */
  bucket: "target",
  no_credentials: "target",
  no_client: "target",
  /** Other bytes lie where ours belong. Nothing was overwritten. */
  conflict: "dead",
  /** Retrying will never succeed. */
  rejected: "dead",
  /** Bytes on this machine are not those that the manifest lists. Nothing was sent. */
  local_damage: "dead",
  /** The package is not on this machine. */
  local_missing: "dead",
  /** The consent to uploads was withdrawn: it stays here. */
  no_consent: "dead",
  /** The copy lies at another service than the one that is configured. */
  other_target: "dead",
  /** The disk of this machine refused. */
  local_io: "package",
  /** Something that was sent is not there: it is sent again. */
  incomplete: "package",
} as const satisfies Record<string, "package" | "target" | "dead">;
export type FailureClass = keyof typeof classes;

interface Details {
  /** The service's code, such as `NoSuchBucket`, or the system's, such as `ECONNREFUSED`. */
  readonly code?: string;
  readonly status?: number | undefined;
  /** The region that the service named as the right one. */
  readonly region?: string | undefined;
  readonly cause?: unknown;
}

const throttled = /^(SlowDown|TooManyRequests|Throttling\w*)$/;

/** Why something was not sent. Its message holds codes only: no key of an account, no content. */
export class UploadFailure extends Error implements UploadError {
  override readonly name = "UploadFailure";
  readonly class: FailureClass;
  readonly code: string | null;
  readonly status: number | null;
  readonly region: string | undefined;

  constructor(kind: FailureClass, { code, status, region, cause }: Details = {}) {
    super(`not sent: ${[kind, code, status].filter((each) => each !== undefined).join(" ")}`, {
      cause,
    });
    this.class = kind;
    this.code = code ?? null;
    this.status = status ?? null;
    this.region = region;
  }

  /** What waits: see `classes`. An answer that asks for no pause is about one package alone. */
  get waits(): (typeof classes)[FailureClass] {
    const { class: kind, status, code } = this;
    const isAnswer = status !== null && status >= 300 && status < 500 && status !== 429;
    const isOfPackage = isAnswer && !throttled.test(code ?? "");
    return kind === "retry" && isOfPackage ? "package" : classes[kind];
  }

  /** As a status file has it. */
  get note(): UploadError {
    return { class: this.class, code: this.code, status: this.status };
  }
}

type Row = readonly [kind: FailureClass, code: RegExp | undefined, from?: number, to?: number];

/** The first row that fits an answer decides. Source: what AWS, Ceph and Swift were seen to answer. */
const rows: readonly Row[] = [
  ["clock", /^(RequestTimeTooSkewed|RequestInTheFuture)$/],
  ["expired", /^(ExpiredToken|ExpiredTokenException|TokenRefreshRequired)$/],
  ["refused", /^(InvalidAccessKeyId|SignatureDoesNotMatch|InvalidToken|BucketAlreadyExists)$/],
  ["bucket", /^(NoSuchBucket|AuthorizationHeaderMalformed|PermanentRedirect)$|LocationConstraint/],
  // Damaged on the way: what is here was compared before it was sent.
  ["retry", /^(BadDigest|XAmzContent\w*Mismatch|IncompleteBody|RequestTimeout)$/],
  ["retry", throttled],
  ["conflict", undefined, 412],
  ["refused", undefined, 401],
  ["refused", undefined, 403],
  ["bucket", undefined, 300, 399],
  ["retry", undefined, 408, 409],
  ["retry", undefined, 429],
  ["rejected", undefined, 501],
  ["retry", undefined, 500, Number.POSITIVE_INFINITY],
];

function classOf(status: number, code: string): FailureClass {
  const row = rows.find(([, known, from = 0, to = from]) =>
    known === undefined ? status >= from && status <= to : known.test(code),
  );
  return row?.[0] ?? "rejected"; // never taken for success
}

const certificateCodes =
  /^(CERT_|(DEPTH_ZERO_)?SELF_SIGNED_CERT|UNABLE_TO_(GET_ISSUER|VERIFY_LEAF|DECRYPT_CERT|DECODE_ISSUER)|ERR_TLS_CERT|HOSTNAME_MISMATCH$)/;

/** What the errors of the client library may carry, as far as they are looked at. */
interface ClientError {
  readonly name?: unknown;
  readonly code?: unknown;
  readonly message?: unknown;
  readonly $metadata?: { readonly httpStatusCode?: number };
  readonly $response?: {
    readonly statusCode?: number;
    readonly headers?: Readonly<Record<string, string>>;
  };
}

/** Makes a failure of an error of the client library. */
export function failureOfClient(thrown: unknown): UploadFailure {
  if (thrown instanceof UploadFailure) return thrown;
  const error: ClientError = typeof thrown === "object" && thrown !== null ? thrown : {};
  const status = error.$metadata?.httpStatusCode ?? error.$response?.statusCode;
  const name = typeof error.name === "string" ? error.name : "Error";
  const code = typeof error.code === "string" ? error.code : name;
  const details = { code, status, cause: thrown };
  if (name === "CredentialsProviderError") return new UploadFailure("no_credentials", details);
  if (certificateCodes.test(code))
    return new UploadFailure("refused", { ...details, status: undefined });
  // No answer, one that came too late, or one of 200 without what S3 answers: a captive portal.
  const isLate = name === "TimeoutError" || name === "AbortError";
  if (isLate || status === undefined) return new UploadFailure("retry", { code, cause: thrown });
  if (status < 300) return new UploadFailure("retry", { ...details, code: name });
  const region = regionOf(error.message, error.$response?.headers ?? {});
  return new UploadFailure(classOf(status, name), { ...details, code: name, region });
}

/** Makes a failure of whatever ended an attempt: what no bucket rejected with, the disk did. */
export function failureOf(thrown: unknown): UploadFailure {
  if (thrown instanceof UploadFailure) return thrown;
  return new UploadFailure("local_io", { code: codeOf(thrown), cause: thrown });
}

function regionOf(message: unknown, headers: Readonly<Record<string, string>>): string | undefined {
  const said = typeof message === "string" ? /expecting '([^']+)'/.exec(message)?.[1] : undefined;
  // It is shown to people: nothing else than a region's name gets through.
  return [headers["x-amz-bucket-region"], said].find(
    (text) => text !== undefined && /^[A-Za-z0-9-]{1,64}$/.test(text),
  );
}

/** What a person can mend, in words. */
export const refusals = {
  no_client: "packages stay on this machine until: npm install @aws-sdk/client-s3",
  no_credentials: "packages stay on this machine until there are credentials for the bucket",
} as const satisfies Partial<Record<FailureClass, string>>;

const firstWaitMs = 1_000;
const longestWaitMs = 300_000;
const systemJitter = () =>
  (globalThis.crypto.getRandomValues(new Uint32Array(1))[0] ?? 0) / 2 ** 32;

/**
 * Draws how long to wait after the `failures`-th failure in a row, in milliseconds: a random part of 1 s,
 * doubled each time up to 300 s.
 *
 * Source: "Exponential backoff and jitter", AWS Architecture Blog (2015): full jitter.
 */
export function waitMs(failures: number, jitter: () => number = systemJitter): number {
  const most = Math.min(firstWaitMs * 2 ** Math.max(failures - 1, 0), longestWaitMs);
  return Math.ceil(most * jitter());
}

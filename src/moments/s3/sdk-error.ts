// The errors of the AWS client, in our words.
import { DeadlinePassed } from "./deadline.ts";
import { S3Error } from "./s3-error.ts";

const certificateCodes: readonly RegExp[] = [
  /^CERT_/,
  /^(DEPTH_ZERO_)?SELF_SIGNED_CERT/,
  /^UNABLE_TO_(GET_ISSUER|VERIFY_LEAF|DECRYPT_CERT|DECODE_ISSUER)/,
  /^ERR_TLS_CERT/,
  /^HOSTNAME_MISMATCH$/,
];

/** What the client's errors may carry, as far as we look. */
interface ClientError {
  readonly name?: unknown;
  readonly code?: unknown;
  readonly message?: unknown;
  readonly $metadata?: { readonly httpStatusCode?: unknown };
  readonly $response?: {
    readonly statusCode?: unknown;
    readonly headers?: Readonly<Record<string, string>>;
  };
}

/** An error of the client as one of ours. Errors of ours pass. */
export function toS3Error(thrown: unknown): S3Error {
  if (thrown instanceof S3Error) return thrown;
  if (thrown instanceof DeadlinePassed) {
    return new S3Error({ kind: "timeout", code: "DeadlinePassed" }, { cause: thrown });
  }
  const error: ClientError = typeof thrown === "object" && thrown !== null ? thrown : {};
  const status = numberOf(error.$metadata?.httpStatusCode) ?? numberOf(error.$response?.statusCode);
  const name = typeof error.name === "string" ? error.name : "Error";
  const code = typeof error.code === "string" ? error.code : name;
  if (name === "CredentialsProviderError") return fail("no_credentials", name);
  if (certificateCodes.some((known) => known.test(code))) return fail("certificate", code);
  // The client says TimeoutError for a reset as well: the code, where there is one, knows better.
  const isLate = name === "TimeoutError" || name === "AbortError";
  if (isLate) return fail(code === name ? "timeout" : "connection", code);
  if (status === undefined) return fail("connection", code);
  if (status >= 200 && status < 300) return fail("hollow", name);
  const headers = error.$response?.headers ?? {};
  const region = regionOf(error.message, headers);
  return new S3Error({ kind: "answer", code: name, status, region }, { cause: thrown });

  function fail(kind: S3Error["kind"], what: string): S3Error {
    return new S3Error({ kind, code: what, status }, { cause: thrown });
  }
}

function regionOf(message: unknown, headers: Readonly<Record<string, string>>): string | undefined {
  const named = headers["x-amz-bucket-region"];
  if (named !== undefined && isRegion(named)) return named;
  const text = typeof message === "string" ? message : "";
  const said = /expecting '([^']+)'/.exec(text)?.[1];
  return said !== undefined && isRegion(said) ? said : undefined;
}

/** What a service names is shown to people: nothing else than a region's name gets through. */
const isRegion = (text: string): boolean => /^[A-Za-z0-9-]{1,64}$/.test(text);

function numberOf(value: unknown): number | undefined {
  return typeof value === "number" ? value : undefined;
}

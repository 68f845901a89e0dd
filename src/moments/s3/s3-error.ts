/** How a call failed: before an answer, by an answer, or by one that is no answer of S3. */
export type S3ErrorKind =
  /** Refused, reset, no such name, cut off. */
  | "connection"
  | "timeout"
  /** The certificate is not to be trusted. */
  | "certificate"
  /** The service said no, in its form. */
  | "answer"
  /** 200, but without what S3 answers: a captive portal, or an error in its body. */
  | "hollow"
  /** No credentials were found. */
  | "no_credentials"
  /** The client library is not installed. */
  | "no_client";

interface S3ErrorDetails {
  readonly kind: S3ErrorKind;
  /** The service's code, such as `NoSuchBucket`, or the system's, such as `ECONNREFUSED`. */
  readonly code: string;
  readonly status?: number | undefined;
  /** The region that the service named as the right one. */
  readonly region?: string | undefined;
}

/** What a bucket rejects with. Its message holds codes only: no key of an account, no content. */
export class S3Error extends Error {
  override readonly name = "S3Error";
  readonly kind: S3ErrorKind;
  readonly code: string;
  readonly status: number | undefined;
  readonly region: string | undefined;

  constructor(details: S3ErrorDetails, options?: { readonly cause?: unknown }) {
    const status = details.status === undefined ? "" : ` (${details.status})`;
    super(`S3: ${details.code}${status}`, options);
    this.kind = details.kind;
    this.code = details.code;
    this.status = details.status;
    this.region = details.region;
  }
}

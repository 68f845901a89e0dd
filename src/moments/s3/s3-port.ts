// What the uploads need of an S3 service: eight calls, so that what they do is not tied to a client.

/** An object to store. Always whole bytes: a stream is framed in a way that many servers refuse. */
export interface ObjectToPut {
  readonly key: string;
  readonly body: Buffer;
  readonly contentType: string;
  /** 64 hex digits, of `body`. Stored as metadata. */
  readonly sha256: string;
  /** The digest that travels in a header: `"md5"` for servers that refuse the other. */
  readonly checksum: "sha256" | "md5";
  /** Stored only if nothing is at the key: `If-None-Match: *`. */
  readonly onlyIfAbsent: boolean;
}

export interface StoredAnswer {
  /** As the service said it, quotes included. */
  readonly etag: string;
  /** 32 hex digits when the ETag tells the MD5 of what was stored. */
  readonly md5: string | undefined;
}

export interface ObjectHead {
  readonly bytes: number;
  readonly etag: string;
  readonly md5: string | undefined;
  /** The metadata `sha256`, when there is one. */
  readonly sha256: string | undefined;
}

export interface ListedObject {
  readonly key: string;
  readonly bytes: number;
  readonly etag: string;
  /** When it was stored, in milliseconds since 1970; `undefined`: the service did not say. */
  readonly modifiedMs: number | undefined;
}

export interface ObjectPage {
  readonly objects: readonly ListedObject[];
  /** Where the next page begins; `undefined` on the last. */
  readonly next: string | undefined;
}

/**
 * One bucket of one service. Every call makes one request, ends within a deadline, and rejects with
 * an `S3Error`, or with the reason of `signal` when that was aborted. A call resolves only on an
 * answer that such a service gives: the page of a captive portal is an error, whatever its status.
 */
export interface S3Port {
  put(object: ObjectToPut, signal: AbortSignal): Promise<StoredAnswer>;
  /** `undefined`: nothing is at the key. */
  head(key: string, signal: AbortSignal): Promise<ObjectHead | undefined>;
  /** `undefined`: nothing is at the key. */
  get(key: string, signal: AbortSignal): Promise<Buffer | undefined>;
  /** Objects whose keys begin with `prefix`, by key, from `after` on. */
  list(prefix: string, after: string | undefined, signal: AbortSignal): Promise<ObjectPage>;
  /** Removes what is at the key; nothing there is fine. Says whether an older version remains. */
  remove(key: string, signal: AbortSignal): Promise<{ readonly versionsRemain: boolean }>;
  /** Whether the bucket is there and may be used. */
  hasBucket(signal: AbortSignal): Promise<boolean>;
  /** One's own bucket that is there already is fine. */
  createBucket(signal: AbortSignal): Promise<void>;
  /** Keeps objects from being public, as far as this kind of service can without locking us out. */
  blockPublicAccess(signal: AbortSignal): Promise<void>;
  /** The next call looks credentials up again. */
  reloadCredentials(): void;
  /** Lets go of connections. */
  close(): void;
}

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
  /** How long the service asked to be left alone. */
  readonly retryAfterMs?: number | undefined;
  /** The region that the service named as the right one. */
  readonly region?: string | undefined;
}

/** What an `S3Port` rejects with. Its message holds codes only: no key of an account, no content. */
export class S3Error extends Error {
  override readonly name = "S3Error";
  readonly kind: S3ErrorKind;
  readonly code: string;
  readonly status: number | undefined;
  readonly retryAfterMs: number | undefined;
  readonly region: string | undefined;

  constructor(details: S3ErrorDetails, options?: { readonly cause?: unknown }) {
    const status = details.status === undefined ? "" : ` (${details.status})`;
    super(`S3: ${details.code}${status}`, options);
    this.kind = details.kind;
    this.code = details.code;
    this.status = details.status;
    this.retryAfterMs = details.retryAfterMs;
    this.region = details.region;
  }
}

/**
 * The MD5 of what was stored, where an ETag tells it: 32 hex digits, and not encrypted with a key of
 * a key service, whose ETags look the same and are not.
 */
export function md5OfEtag(etag: string, encryption?: string): string | undefined {
  if (encryption?.startsWith("aws:kms") === true) return undefined;
  return /^"?([0-9a-f]{32})"?$/i.exec(etag)?.[1]?.toLowerCase();
}

// What a server reads of AWS Signature Version 4: whose a request is, for which region, and when it was made. The
// digest itself is the business of AWS's client; test/full/s3-servers.test.ts asks real services about it.

/** A request as it came over the wire, its body whole. */
export interface ReceivedRequest {
  readonly method: string;
  /** The path with its percent-encoding, without the query. */
  readonly path: string;
  readonly query: URLSearchParams;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

export interface SigningRules {
  readonly accessKeyId: string;
  readonly sessionToken: string | undefined;
  readonly region: string;
  /** The server's wall clock in milliseconds since 1970. */
  readonly now: number;
}

/** An answer of S3 that is an error. */
export interface S3Refusal {
  readonly status: number;
  readonly code: string;
  readonly message: string;
}

/** How far the clocks may be apart, as at AWS. */
const allowedSkewMs = 15 * 60 * 1_000;

const form =
  /^AWS4-HMAC-SHA256 Credential=([^/]+)\/\d{8}\/([^/]+)\/([^/]+)\/aws4_request, ?SignedHeaders=[^,]+, ?Signature=[0-9a-f]{64}$/;

/** Says what is wrong with what a request is signed with; `undefined`: nothing. */
export function refusalOfSignature(
  request: ReceivedRequest,
  rules: SigningRules,
): S3Refusal | undefined {
  const [, accessKeyId, region, service] = form.exec(request.headers["authorization"] ?? "") ?? [];
  if (service === undefined) return refusal(403, "AccessDenied", "The request is not signed.");
  if (accessKeyId !== rules.accessKeyId) {
    return refusal(403, "InvalidAccessKeyId", "There is no such access key.");
  }
  if (region !== rules.region || service !== "s3") {
    const message = `The region '${region}' is wrong; expecting '${rules.region}'`;
    return refusal(400, "AuthorizationHeaderMalformed", message);
  }
  const at = timeOf(request.headers["x-amz-date"] ?? "");
  if (at === undefined || Math.abs(at - rules.now) > allowedSkewMs) {
    return refusal(403, "RequestTimeTooSkewed", "The clocks are too far apart.");
  }
  if ((request.headers["x-amz-security-token"] ?? undefined) !== rules.sessionToken) {
    return refusal(403, "InvalidToken", "The session token is not the right one.");
  }
  return undefined;
}

/** `20260301T120000Z` in milliseconds since 1970. */
function timeOf(stamp: string): number | undefined {
  const [, y, mo, d, h, mi, s] = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(stamp) ?? [];
  return y === undefined ? undefined : Date.parse(`${y}-${mo}-${d}T${h}:${mi}:${s}Z`);
}

function refusal(status: number, code: string, message: string): S3Refusal {
  return { status, code, message };
}

// AWS Signature Version 4 as a server checks it: on what was received, not on what a client meant.
// Source: "Signature Version 4 signing process" and "Authenticating requests (S3)", AWS documentation.
import { createHash, createHmac, timingSafeEqual } from "node:crypto";

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
  readonly secretAccessKey: string;
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

interface Authorization {
  readonly accessKeyId: string;
  readonly date: string;
  readonly region: string;
  readonly service: string;
  readonly signedHeaders: readonly string[];
  readonly signature: string;
}

/** What is wrong with the request's signature; `undefined` when it is right in every part. */
export function refusalOfSignature(
  request: ReceivedRequest,
  rules: SigningRules,
): S3Refusal | undefined {
  const given = readAuthorization(request.headers["authorization"] ?? "");
  if (given === undefined) return refusal(403, "AccessDenied", "The request is not signed.");
  if (given.accessKeyId !== rules.accessKeyId) {
    return refusal(403, "InvalidAccessKeyId", "There is no such access key.");
  }
  if (given.region !== rules.region || given.service !== "s3") {
    const message = `The region '${given.region}' is wrong; expecting '${rules.region}'`;
    return refusal(400, "AuthorizationHeaderMalformed", message);
  }
  const at = timeOf(request.headers["x-amz-date"] ?? "");
  if (at === undefined || Math.abs(at - rules.now) > allowedSkewMs) {
    return refusal(403, "RequestTimeTooSkewed", "The clocks are too far apart.");
  }
  if ((request.headers["x-amz-security-token"] ?? undefined) !== rules.sessionToken) {
    return refusal(403, "InvalidToken", "The session token is not the right one.");
  }
  const unsigned = mustBeSigned(request).find((name) => !given.signedHeaders.includes(name));
  if (unsigned !== undefined) {
    return refusal(403, "AccessDenied", `The header ${unsigned} is not signed.`);
  }
  if (!equal(given.signature, signatureOf(request, given, rules.secretAccessKey))) {
    return refusal(403, "SignatureDoesNotMatch", "The signature is not that of the request.");
  }
  return undefined;
}

/** Every header that changes what is stored or who asks: a permissive server takes what Ceph refuses. */
function mustBeSigned({ headers }: ReceivedRequest): readonly string[] {
  const bound = ["host", "content-type", "content-md5", "if-none-match"];
  return Object.keys(headers).filter((name) => bound.includes(name) || name.startsWith("x-amz-"));
}

function readAuthorization(header: string): Authorization | undefined {
  const form =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/([^/]+)\/aws4_request, ?SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})$/;
  const [, accessKeyId, date, region, service, names, signature] = form.exec(header) ?? [];
  if (accessKeyId === undefined || date === undefined || region === undefined) return undefined;
  if (service === undefined || names === undefined || signature === undefined) return undefined;
  return { accessKeyId, date, region, service, signedHeaders: names.split(";"), signature };
}

function signatureOf(request: ReceivedRequest, given: Authorization, secret: string): string {
  const scope = `${given.date}/${given.region}/${given.service}/aws4_request`;
  const toSign = [
    "AWS4-HMAC-SHA256",
    request.headers["x-amz-date"] ?? "",
    scope,
    createHash("sha256").update(canonicalRequest(request, given.signedHeaders)).digest("hex"),
  ].join("\n");
  const key = signingKey(secret, scope);
  return hmac(key, toSign).toString("hex");
}

const signingKeys = new Map<string, Buffer>();

/** The same for a day: derived once. */
function signingKey(secret: string, scope: string): Buffer {
  const name = `${secret}/${scope}`;
  const known = signingKeys.get(name);
  if (known !== undefined) return known;
  const [date = "", ...rest] = scope.split("/");
  const key = rest.reduce(hmac, hmac(`AWS4${secret}`, date));
  signingKeys.set(name, key);
  return key;
}

function canonicalRequest(request: ReceivedRequest, signedHeaders: readonly string[]): string {
  const query = Array.from(request.query, ([name, value]) => `${encode(name)}=${encode(value)}`);
  const headers = signedHeaders.map(
    (name) => `${name}:${(request.headers[name] ?? "").trim().replaceAll(/ +/g, " ")}\n`,
  );
  return [
    request.method,
    request.path,
    query.sort().join("&"),
    headers.join(""),
    signedHeaders.join(";"),
    request.headers["x-amz-content-sha256"] ?? "",
  ].join("\n");
}

function encode(text: string): string {
  return encodeURIComponent(text).replaceAll(
    /[!'()*]/g,
    (letter) => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

function hmac(key: Buffer | string, text: string): Buffer {
  return createHmac("sha256", key).update(text).digest();
}

function equal(left: string, right: string): boolean {
  return left.length === right.length && timingSafeEqual(Buffer.from(left), Buffer.from(right));
}

/** `20260301T120000Z` in milliseconds since 1970. */
function timeOf(stamp: string): number | undefined {
  const [, y, mo, d, h, mi, s] = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(stamp) ?? [];
  return y === undefined ? undefined : Date.parse(`${y}-${mo}-${d}T${h}:${mi}:${s}Z`);
}

function refusal(status: number, code: string, message: string): S3Refusal {
  return { status, code, message };
}

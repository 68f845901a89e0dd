// What an S3 server does with a request that came whole: no sockets, no faults.
import { createHash } from "node:crypto";
import { error, listing, noContent, ok, refused, type S3Answer } from "./s3-answers.ts";
import type { S3Operation, StoredObject } from "./s3-journal.ts";
import { type ReceivedRequest, refusalOfSignature } from "./sigv4.ts";

/** How a server differs from AWS, as real ones do. */
export interface S3ServerRules {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken: string | undefined;
  readonly region: string;
  /** `"refused"`: 501 as Swift says it. */
  readonly conditionalPut: "kept" | "refused";
  /** `"refused"`: 400 InvalidRequest to a request with `x-amz-checksum-sha256`. */
  readonly checksum: "kept" | "refused";
  /** `"forbidden"`: no right to LIST. */
  readonly list: "allowed" | "forbidden";
  /** `"refused"`: AccessDenied to a public access block. */
  readonly accessBlock: "kept" | "refused";
  /** Whether a removed object leaves a version behind, and the answer says so. */
  readonly versions: boolean;
  /** Names of buckets that belong to somebody else. */
  readonly foreignBuckets: readonly string[];
  readonly pageSize: number;
  /** How far the server's clock is ahead of this machine's, in milliseconds. */
  readonly skewMs: number;
}

export interface Bucket {
  readonly objects: Map<string, StoredObject>;
  accessBlock: string | undefined;
}

/** What a request asks for, by its method and address alone. */
export interface Asked {
  readonly operation: S3Operation | "unknown";
  readonly bucket: string;
  readonly key: string;
}

export function askedOf(method: string, path: string, query: URLSearchParams): Asked {
  const [, bucket = "", ...rest] = path.split("/");
  const key = rest.map((part) => decodeURIComponent(part)).join("/");
  const operation = operationOf(method, key, query);
  return {
    operation,
    bucket,
    key: operation === "ListObjectsV2" ? (query.get("prefix") ?? "") : key,
  };
}

const ofObjects: Readonly<Record<string, S3Operation>> = {
  PUT: "PutObject",
  GET: "GetObject",
  DELETE: "DeleteObject",
};

function operationOf(method: string, key: string, query: URLSearchParams): Asked["operation"] {
  if (key !== "") return ofObjects[method] ?? "unknown";
  if (method === "GET") return query.get("list-type") === "2" ? "ListObjectsV2" : "unknown";
  if (method !== "PUT") return "unknown";
  return query.has("publicAccessBlock") ? "PutPublicAccessBlock" : "CreateBucket";
}

export class S3Service {
  readonly buckets = new Map<string, Bucket>();
  rules: S3ServerRules;

  constructor(rules: S3ServerRules) {
    this.rules = rules;
  }

  /** @param now the server's wall clock. */
  answer(asked: Asked, request: ReceivedRequest, now: number): S3Answer {
    const refusal = refusalOfSignature(request, { ...this.rules, now });
    if (refusal !== undefined) return refused(refusal);
    const damage = damageOf(request);
    if (damage !== undefined) return damage;
    if (this.rules.foreignBuckets.includes(asked.bucket)) {
      if (asked.operation === "CreateBucket") return error(409, "BucketAlreadyExists");
      return error(403, "AccessDenied");
    }
    if (asked.operation === "CreateBucket") return this.#createBucket(asked.bucket, request);
    const bucket = this.buckets.get(asked.bucket);
    if (bucket === undefined) return error(404, "NoSuchBucket");
    switch (asked.operation) {
      case "PutObject":
        return this.#put(bucket, asked.key, request, now);
      case "GetObject":
        return this.#get(bucket, asked.key);
      case "DeleteObject":
        return this.#delete(bucket, asked.key);
      case "ListObjectsV2":
        return this.#list(asked.bucket, bucket, request.query);
      case "PutPublicAccessBlock":
        if (this.rules.accessBlock === "refused") return error(403, "AccessDenied");
        bucket.accessBlock = request.body.toString("utf8");
        return ok();
      default:
        return error(405, "MethodNotAllowed");
    }
  }

  #createBucket(name: string, request: ReceivedRequest): S3Answer {
    const constraint = /<LocationConstraint>([^<]*)</.exec(request.body.toString("utf8"))?.[1];
    const wanted = this.rules.region === "us-east-1" ? undefined : this.rules.region;
    if (constraint !== undefined && constraint !== wanted) {
      return error(400, "InvalidLocationConstraint");
    }
    if (this.buckets.has(name)) return error(409, "BucketAlreadyOwnedByYou");
    this.buckets.set(name, { objects: new Map(), accessBlock: undefined });
    return ok({ location: `/${name}` });
  }

  #put(
    bucket: Bucket,
    key: string,
    { headers, body }: ReceivedRequest,
    modifiedMs: number,
  ): S3Answer {
    const { rules } = this;
    const condition = headers["if-none-match"];
    if (condition !== undefined && rules.conditionalPut === "refused") {
      return error(501, "NotImplemented", "A header implies functionality that is not there.");
    }
    if (headers["x-amz-checksum-sha256"] !== undefined && rules.checksum === "refused") {
      return error(400, "InvalidRequest");
    }
    if (condition === "*" && bucket.objects.has(key)) {
      return error(412, "PreconditionFailed");
    }
    const etag = `"${createHash("md5").update(body).digest("hex")}"`;
    const contentType = headers["content-type"] ?? "application/octet-stream";
    const metadata = metadataOf(headers);
    bucket.objects.set(key, { body, etag, contentType, metadata, modifiedMs });
    return { ...ok({ etag }), changed: true };
  }

  #get(bucket: Bucket, key: string): S3Answer {
    const object = bucket.objects.get(key);
    if (object === undefined) return error(404, "NoSuchKey");
    const metadata = Object.entries(object.metadata).map(
      ([name, value]) => [`x-amz-meta-${name}`, value] as const,
    );
    const headers = { etag: object.etag, "content-type": object.contentType };
    return ok({ ...headers, ...Object.fromEntries(metadata) }, object.body);
  }

  #delete(bucket: Bucket, key: string): S3Answer {
    const wasThere = bucket.objects.delete(key);
    const isMarked = this.rules.versions && wasThere;
    return noContent(isMarked ? { "x-amz-delete-marker": "true" } : {});
  }

  #list(name: string, bucket: Bucket, query: URLSearchParams): S3Answer {
    if (this.rules.list === "forbidden") return error(403, "AccessDenied");
    const prefix = query.get("prefix") ?? "";
    const after = query.get("continuation-token") ?? "";
    const maxKeys = Math.min(Number(query.get("max-keys") ?? 1_000), this.rules.pageSize);
    const keys = Array.from(bucket.objects.keys())
      .filter((key) => key.startsWith(prefix) && key > after)
      .sort();
    const objects = keys.slice(0, maxKeys).flatMap((key) => {
      const object = bucket.objects.get(key);
      if (object === undefined) return [];
      const { body, etag, modifiedMs } = object;
      return [{ key, size: body.length, etag, modifiedMs }];
    });
    const next = keys.length > maxKeys ? objects.at(-1)?.key : undefined;
    return listing({ bucket: name, prefix, objects, maxKeys, next });
  }
}

/** Bytes that are not what the client says they are, or framed as no plain server stores them. */
function damageOf({ headers, body }: ReceivedRequest): S3Answer | undefined {
  const sha256 = createHash("sha256").update(body);
  const said = headers["x-amz-content-sha256"] ?? "";
  if (said.startsWith("STREAMING-") || headers["content-encoding"]?.includes("aws-chunked")) {
    return error(411, "MissingContentLength");
  }
  if (body.length > 0 && headers["content-length"] === undefined) {
    return error(411, "MissingContentLength");
  }
  const digest = sha256.digest();
  if (said !== "UNSIGNED-PAYLOAD" && said !== digest.toString("hex")) {
    return error(400, "XAmzContentSHA256Mismatch");
  }
  const md5 = headers["content-md5"];
  if (md5 !== undefined && md5 !== createHash("md5").update(body).digest("base64")) {
    return error(400, "BadDigest");
  }
  const checksum = headers["x-amz-checksum-sha256"];
  if (checksum !== undefined && checksum !== digest.toString("base64"))
    return error(400, "BadDigest");
  return undefined;
}

function metadataOf(headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const prefix = "x-amz-meta-";
  const entries = Object.entries(headers).filter(([name]) => name.startsWith(prefix));
  return Object.fromEntries(entries.map(([name, value]) => [name.slice(prefix.length), value]));
}

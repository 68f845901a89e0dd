import { createHash } from "node:crypto";
import type { Readable } from "node:stream";
import type { S3Client, S3ClientConfig } from "@aws-sdk/client-s3";
import type { Timers } from "../../core/timers.ts";
import { withDeadline } from "./deadline.ts";
import type { S3Target } from "./options.ts";
import {
  md5OfEtag,
  type ObjectHead,
  type ObjectPage,
  type ObjectToPut,
  S3Error,
  type S3Port,
  type StoredAnswer,
} from "./s3-port.ts";
import { toS3Error } from "./sdk-error.ts";

/** The client library of AWS: an optional peer, 33 MB in memory, so loaded at the first upload. */
type S3Sdk = typeof import("@aws-sdk/client-s3");
export type LoadS3Sdk = () => Promise<S3Sdk>;

/** The one place that imports it. */
const loadS3Sdk: LoadS3Sdk = () => import("@aws-sdk/client-s3");

/** Deadlines in milliseconds. The client has none of its own: a silent server hangs for ever. */
export const requestDeadlines = {
  /** To connect. */
  connectMs: 5_000,
  /** Of silence on a connection. */
  silenceMs: 15_000,
  /** Of a whole request, to which comes 1 ms a byte: 1 KB a second is the slowest link that works. */
  requestMs: 30_000,
  msPerByte: 1,
  /** To find credentials. */
  credentialsMs: 5_000,
} as const;

/** Nothing that is read back is larger: manifests and retractions. */
const maxReadBytes = 64 * 1024 * 1024;

const nothing = () => undefined;
const silence = { debug: nothing, info: nothing, warn: nothing, error: nothing };

interface Loaded {
  readonly sdk: S3Sdk;
  readonly client: S3Client;
  /** Requests under way: a client that was replaced ends its connections after the last of them. */
  busy: number;
  isRetired: boolean;
}

/** A bucket through the client of AWS, which is imported by the first call. */
export class SdkS3Port implements S3Port {
  readonly #options: S3Target;
  readonly #timers: Timers;
  readonly #loadSdk: LoadS3Sdk;
  #loaded: Promise<Loaded> | undefined;

  constructor(options: S3Target, timers: Timers, load = loadS3Sdk) {
    this.#options = options;
    this.#timers = timers;
    this.#loadSdk = load;
  }

  async put(object: ObjectToPut, signal: AbortSignal): Promise<StoredAnswer> {
    const { body, contentType, sha256 } = object;
    const digest =
      object.checksum === "sha256"
        ? ({
            ChecksumAlgorithm: "SHA256",
            ChecksumSHA256: Buffer.from(sha256, "hex").toString("base64"),
          } as const)
        : { ContentMD5: createHash("md5").update(body).digest("base64") };
    const { encryption } = this.#options;
    const input = {
      ...this.#inBucket,
      Key: object.key,
      Body: body,
      ContentLength: body.length,
      ContentType: contentType,
      Metadata: { sha256 },
      ...digest,
      IfNoneMatch: object.onlyIfAbsent ? "*" : undefined,
      ServerSideEncryption: encryption === "none" ? undefined : encryption,
    };
    const answer = await this.#send(body.length, signal, ({ sdk, client }, abortSignal) =>
      client.send(new sdk.PutObjectCommand(input), { abortSignal }),
    );
    const { ETag: etag, ServerSideEncryption } = answer;
    if (etag === undefined || etag === "") throw hollow("NoETag", answer);
    return { etag, md5: md5OfEtag(etag, ServerSideEncryption) };
  }

  async head(key: string, signal: AbortSignal): Promise<ObjectHead | undefined> {
    const answer = await this.#orAbsent(signal, ({ sdk, client }, abortSignal) =>
      client.send(new sdk.HeadObjectCommand({ ...this.#inBucket, Key: key }), { abortSignal }),
    );
    if (answer === undefined) return undefined;
    const { ETag: etag, ContentLength: bytes, Metadata, ServerSideEncryption } = answer;
    if (etag === undefined || bytes === undefined) throw hollow("NoETag", answer);
    return {
      bytes,
      etag,
      md5: md5OfEtag(etag, ServerSideEncryption),
      sha256: Metadata?.["sha256"],
    };
  }

  async get(key: string, signal: AbortSignal): Promise<Buffer | undefined> {
    return await this.#orAbsent(signal, async ({ sdk, client }, abortSignal) => {
      const command = new sdk.GetObjectCommand({ ...this.#inBucket, Key: key });
      const answer = await client.send(command, { abortSignal });
      const { ETag: etag, ContentLength: bytes, Body: body } = answer;
      if (etag === undefined || bytes === undefined || body === undefined) {
        throw hollow("NoETag", answer);
      }
      if (bytes > maxReadBytes) throw new S3Error({ kind: "hollow", code: "TooLarge" });
      return await readWhole(body as Readable, bytes, abortSignal);
    });
  }

  async list(prefix: string, after: string | undefined, signal: AbortSignal): Promise<ObjectPage> {
    const page = after === undefined ? {} : { ContinuationToken: after };
    const input = { ...this.#inBucket, Prefix: prefix, ...page };
    const answer = await this.#send(0, signal, ({ sdk, client }, abortSignal) =>
      client.send(new sdk.ListObjectsV2Command(input), { abortSignal }),
    );
    if (answer.Name !== this.#options.bucket) throw hollow("NoName", answer);
    const isCut = answer.IsTruncated === true;
    if (isCut && answer.NextContinuationToken === undefined) throw hollow("NoToken", answer);
    const objects = (answer.Contents ?? []).map(({ Key: key, Size: bytes, ...more }) => {
      if (key === undefined || bytes === undefined) throw hollow("NoKey", answer);
      return { key, bytes, etag: more.ETag ?? "", modifiedMs: more.LastModified?.getTime() };
    });
    return { objects, next: isCut ? answer.NextContinuationToken : undefined };
  }

  async remove(key: string, signal: AbortSignal): Promise<{ readonly versionsRemain: boolean }> {
    const answer = await this.#orAbsent(signal, ({ sdk, client }, abortSignal) =>
      client.send(new sdk.DeleteObjectCommand({ ...this.#inBucket, Key: key }), { abortSignal }),
    );
    if (answer === undefined) return { versionsRemain: false };
    // A page of HTML with 200 resolves as well.
    if (answer.$metadata.httpStatusCode !== 204) throw hollow("NotRemoved", answer);
    return { versionsRemain: answer.DeleteMarker === true || answer.VersionId !== undefined };
  }

  async hasBucket(signal: AbortSignal): Promise<boolean> {
    const answer = await this.#orAbsent(signal, ({ sdk, client }, abortSignal) =>
      client.send(new sdk.HeadBucketCommand(this.#inBucket), { abortSignal }),
    );
    return answer !== undefined;
  }

  async createBucket(signal: AbortSignal): Promise<void> {
    const { bucket: Bucket } = this.#options;
    const configuration = this.#bucketConfiguration();
    try {
      await this.#send(0, signal, ({ sdk, client }, abortSignal) => {
        const command = new sdk.CreateBucketCommand({ Bucket });
        // The client adds the region by itself, also where the service refuses it: it goes last.
        command.middlewareStack.add(
          (next) => (args) => next({ ...args, input: { Bucket, ...configuration } }),
          { step: "initialize", priority: "low", name: "throughlineLocation" },
        );
        return client.send(command, { abortSignal });
      });
    } catch (error) {
      if (!(error instanceof S3Error) || error.code !== "BucketAlreadyOwnedByYou") throw error;
    }
  }

  async blockPublicAccess(signal: AbortSignal): Promise<void> {
    // Ceph 16 takes BlockPublicAcls, and answers AccessDenied to every later PUT.
    const acls = this.#options.endpoint === undefined ? { BlockPublicAcls: true } : {};
    const PublicAccessBlockConfiguration = {
      IgnorePublicAcls: true,
      BlockPublicPolicy: true,
      RestrictPublicBuckets: true,
      ...acls,
    };
    const input = { ...this.#inBucket, PublicAccessBlockConfiguration };
    await this.#send(0, signal, ({ sdk, client }, abortSignal) =>
      client.send(new sdk.PutPublicAccessBlockCommand(input), { abortSignal }),
    );
  }

  reloadCredentials(): void {
    const loaded = this.#loaded;
    this.#loaded = undefined;
    loaded?.then(
      (old) => {
        old.isRetired = true;
        if (old.busy === 0) old.client.destroy();
      },
      () => undefined, // it was never made
    );
  }

  close(): void {
    this.reloadCredentials();
  }

  get #inBucket() {
    const { bucket, bucketOwner } = this.#options;
    const owner = bucketOwner === undefined ? {} : { ExpectedBucketOwner: bucketOwner };
    return { Bucket: bucket, ...owner };
  }

  #bucketConfiguration() {
    const { region, endpoint } = this.#options;
    if (endpoint !== undefined || region === "us-east-1") return {};
    return { CreateBucketConfiguration: { LocationConstraint: region as "eu-west-1" } };
  }

  async #orAbsent<T>(
    signal: AbortSignal,
    call: (loaded: Loaded, signal: AbortSignal) => Promise<T>,
  ): Promise<T | undefined> {
    try {
      return await this.#send(0, signal, call);
    } catch (error) {
      if (!(error instanceof S3Error) || error.status !== 404) throw error;
      if (error.code === "NoSuchBucket") throw error;
      return undefined;
    }
  }

  async #send<T>(
    bytes: number,
    signal: AbortSignal,
    call: (loaded: Loaded, signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const timers = this.#timers;
    const { requestMs, msPerByte } = requestDeadlines;
    try {
      this.#loaded ??= this.#load();
      const loaded = await this.#loaded;
      const ms = requestMs + bytes * msPerByte;
      return await whileBusy(loaded, async () => {
        await this.#findCredentials(loaded.client, signal);
        return await withDeadline(timers, ms, signal, (inner) => call(loaded, inner));
      });
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      throw toS3Error(error);
    }
  }

  async #findCredentials(client: S3Client, signal: AbortSignal): Promise<void> {
    const timers = this.#timers;
    try {
      await withDeadline(timers, requestDeadlines.credentialsMs, signal, () =>
        client.config.credentials(),
      );
    } catch (cause) {
      if (signal.aborted) throw signal.reason;
      this.reloadCredentials(); // a failed look-up is not kept
      throw new S3Error({ kind: "no_credentials", code: "NoCredentials" }, { cause });
    }
  }

  async #load(): Promise<Loaded> {
    let sdk: S3Sdk;
    try {
      sdk = await this.#loadSdk();
    } catch (cause) {
      this.#loaded = undefined;
      throw new S3Error({ kind: "no_client", code: "NoClient" }, { cause });
    }
    const client = new sdk.S3Client(this.#configuration());
    return { sdk, client, busy: 0, isRetired: false };
  }

  #configuration(): S3ClientConfig {
    const { region, endpoint, credentials } = this.#options;
    const { connectMs, silenceMs } = requestDeadlines;
    return {
      region,
      // Its retries cover 0.1 s, are not on our clock, and starve in a long outage.
      maxAttempts: 1,
      logger: silence, // or it writes to the console
      requestChecksumCalculation: "WHEN_REQUIRED",
      responseChecksumValidation: "WHEN_REQUIRED",
      requestHandler: { connectionTimeout: connectMs, socketTimeout: silenceMs },
      ...(endpoint === undefined ? {} : { endpoint, forcePathStyle: true }),
      ...(credentials === undefined ? {} : { credentials }),
    };
  }
}

async function whileBusy<T>(loaded: Loaded, work: () => Promise<T>): Promise<T> {
  loaded.busy++;
  try {
    return await work();
  } finally {
    loaded.busy--;
    if (loaded.busy === 0 && loaded.isRetired) loaded.client.destroy();
  }
}

function hollow(
  code: string,
  answer: { readonly $metadata: { readonly httpStatusCode?: number } },
) {
  return new S3Error({ kind: "hollow", code, status: answer.$metadata.httpStatusCode });
}

/** The whole body. Destroys it when the signal fires: the client leaves a body that is read alone. */
async function readWhole(body: Readable, bytes: number, signal: AbortSignal): Promise<Buffer> {
  const destroy = () => body.destroy();
  signal.addEventListener("abort", destroy, { once: true });
  try {
    const chunks: Buffer[] = [];
    let length = 0;
    for await (const chunk of body) {
      chunks.push(chunk as Buffer);
      length += (chunk as Buffer).length;
      if (length > bytes) break;
    }
    if (length !== bytes) throw new S3Error({ kind: "connection", code: "CutBody" });
    return Buffer.concat(chunks);
  } finally {
    signal.removeEventListener("abort", destroy);
  }
}

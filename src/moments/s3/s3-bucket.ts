import { addAbortSignal, type Readable } from "node:stream";
import type { S3Client } from "@aws-sdk/client-s3";
import type { Logger } from "../../core/logger.ts";
import { type Timers, until } from "../../core/timers.ts";
import type { S3Target } from "./options.ts";
import { failureOfClient, UploadFailure } from "./upload-failure.ts";

/** The client library of AWS: an optional peer, 33 MB in memory, so loaded at the first upload. */
type S3Sdk = typeof import("@aws-sdk/client-s3");

/** The one place that imports it. */
const loadS3Sdk = () => import("@aws-sdk/client-s3");

/** Looks whether the client library is installed, and does not load it. */
export function isClientInstalled(): boolean {
  try {
    import.meta.resolve("@aws-sdk/client-s3");
    return true;
  } catch {
    return false;
  }
}

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

/** Nothing that is read back is larger: manifests and words. */
const maxReadBytes = 64 * 1024 * 1024;

/** An object to store. Always whole bytes: a stream is framed in a way that many servers refuse. */
export interface ObjectToPut {
  readonly key: string;
  readonly body: Buffer;
  readonly contentType: string;
  /** 64 hex digits, of `body`. Stored as metadata, and sent as a checksum unless those are off. */
  readonly sha256: string;
}

export interface ListedObject {
  readonly key: string;
  readonly bytes: number;
  readonly etag: string;
  /** When it was stored, in milliseconds since 1970; `undefined`: the service did not say. */
  readonly modifiedMs: number | undefined;
}

interface BucketPorts {
  readonly timers: Timers;
  readonly logger: Logger;
  /** @default imports the client library */
  readonly load?: (() => Promise<object>) | undefined;
}

const nothing = () => undefined;
const silence = { debug: nothing, info: nothing, warn: nothing, error: nothing };

interface Loaded {
  readonly sdk: S3Sdk;
  readonly client: S3Client;
}

/**
 * One bucket of one service, through the client of AWS, which is imported by the first call. A call ends
 * within a deadline, and rejects with an `UploadFailure`, or with the reason of `signal` when that was aborted.
 * It resolves only on an answer that such a service gives: the page of a captive portal is an error,
 * whatever its status. Clocks that are apart and credentials that have expired are corrected once, at once.
 */
export class S3Bucket {
  readonly #target: S3Target;
  readonly #ports: BucketPorts;
  #loaded: Promise<Loaded> | undefined;

  constructor(target: S3Target, ports: BucketPorts) {
    this.#target = target;
    this.#ports = ports;
  }

  /**
   * Stores an object, over whatever is at its key.
   *
   * @param condition `"*"`: only where nothing is.
   * @returns its ETag, as the service said it.
   */
  async put(object: ObjectToPut, signal: AbortSignal, condition?: "*"): Promise<string> {
    const { body, contentType, sha256 } = object;
    const { endpoint, checksums } = this.#target;
    const input = {
      ...this.#inBucket,
      Key: object.key,
      Body: body,
      ContentLength: body.length,
      ContentType: contentType,
      Metadata: { sha256 },
      ChecksumSHA256:
        checksums === "off" ? undefined : Buffer.from(sha256, "hex").toString("base64"),
      IfNoneMatch: condition,
      // Some services refuse the header; AWS is asked for what it does by default.
      ServerSideEncryption: endpoint === undefined ? ("AES256" as const) : undefined,
    };
    const answer = await this.#send(body.length, signal, ({ sdk, client }, abortSignal) =>
      client.send(new sdk.PutObjectCommand(input), { abortSignal }),
    );
    if (answer.ETag === undefined || answer.ETag === "") throw hollow("NoETag", answer);
    return answer.ETag;
  }

  /**
   * Stores an object where nothing is. Swift knows no such condition and says so: there it is looked
   * first. What is there stays.
   */
  async putIfAbsent(object: ObjectToPut, signal: AbortSignal): Promise<void> {
    try {
      await this.put(object, signal, "*");
    } catch (error) {
      if (!(error instanceof UploadFailure)) throw error;
      if (error.status === 412) return;
      if (error.status !== 501) throw error;
      if ((await this.get(object.key, signal)) === undefined) await this.put(object, signal);
    }
  }

  /** `undefined`: nothing is at the key. */
  async get(key: string, signal: AbortSignal): Promise<Buffer | undefined> {
    return await this.#orAbsent(signal, async ({ sdk, client }, abortSignal) => {
      const command = new sdk.GetObjectCommand({ ...this.#inBucket, Key: key });
      const answer = await client.send(command, { abortSignal });
      const { ETag: etag, ContentLength: bytes, Body: body } = answer;
      if (etag === undefined || bytes === undefined || body === undefined) {
        throw hollow("NoETag", answer);
      }
      if (bytes > maxReadBytes) throw new UploadFailure("retry", { code: "TooLarge" });
      return await readWhole(body as Readable, bytes, abortSignal);
    });
  }

  /** Every object under a prefix, by key. A missing bucket is made first if that was asked for. */
  async *list(prefix: string, signal: AbortSignal): AsyncGenerator<ListedObject, void> {
    let after: string | undefined;
    do {
      const input = { ...this.#inBucket, Prefix: prefix, ContinuationToken: after };
      const answer = await this.#send(0, signal, ({ sdk, client }, abortSignal) =>
        client.send(new sdk.ListObjectsV2Command(input), { abortSignal }),
      ).catch(async (error: UploadFailure) => {
        if (error.code !== "NoSuchBucket" || !this.#target.createBucket) throw error;
        await this.#make(signal);
      });
      if (answer === undefined) return; // it was made now
      if (answer.Name !== this.#target.bucket) throw hollow("NoName", answer);
      after = answer.IsTruncated === true ? answer.NextContinuationToken : undefined;
      if (answer.IsTruncated === true && after === undefined) throw hollow("NoToken", answer);
      for (const { Key: key, Size: bytes, ...more } of answer.Contents ?? []) {
        if (key === undefined || bytes === undefined) throw hollow("NoKey", answer);
        yield { key, bytes, etag: more.ETag ?? "", modifiedMs: more.LastModified?.getTime() };
      }
    } while (after !== undefined);
  }

  /** Removes what is at the key; nothing there is fine. @returns whether an older version remains. */
  async remove(key: string, signal: AbortSignal): Promise<boolean> {
    const answer = await this.#orAbsent(signal, ({ sdk, client }, abortSignal) =>
      client.send(new sdk.DeleteObjectCommand({ ...this.#inBucket, Key: key }), { abortSignal }),
    );
    if (answer === undefined) return false;
    // A page of HTML with 200 resolves as well.
    if (answer.$metadata.httpStatusCode !== 204) throw hollow("NotRemoved", answer);
    return answer.DeleteMarker === true || answer.VersionId !== undefined;
  }

  /** Ends the connections. Call it when no request is under way. */
  close(): void {
    this.#loaded?.then(
      ({ client }) => client.destroy(),
      () => undefined, // it was never made
    );
    this.#loaded = undefined;
  }

  /** Makes the bucket, and closes it to the public as far as the service can. */
  async #make(signal: AbortSignal): Promise<void> {
    const { bucket: Bucket, endpoint, region } = this.#target;
    const LocationConstraint = region as "eu-west-1";
    const isPlaced = endpoint === undefined && region !== "us-east-1";
    const CreateBucketConfiguration = isPlaced ? { LocationConstraint } : undefined;
    const location = { Bucket, CreateBucketConfiguration };
    try {
      await this.#send(0, signal, ({ sdk, client }, abortSignal) => {
        const command = new sdk.CreateBucketCommand({ Bucket });
        // The client adds the region by itself, also where the service refuses it: it goes last.
        command.middlewareStack.add((next) => (args) => next({ ...args, input: location }), {
          step: "initialize",
          priority: "low",
          name: "throughlineLocation",
        });
        return client.send(command, { abortSignal });
      });
    } catch (error) {
      if (!(error instanceof UploadFailure) || error.code !== "BucketAlreadyOwnedByYou")
        throw error;
    }
    // Ceph 16 takes BlockPublicAcls, and answers AccessDenied to every later PUT.
    const acls = endpoint === undefined ? { BlockPublicAcls: true } : {};
    const rules = { IgnorePublicAcls: true, BlockPublicPolicy: true, RestrictPublicBuckets: true };
    const PublicAccessBlockConfiguration = { ...rules, ...acls };
    const input = { ...this.#inBucket, PublicAccessBlockConfiguration };
    try {
      await this.#send(0, signal, ({ sdk, client }, abortSignal) =>
        client.send(new sdk.PutPublicAccessBlockCommand(input), { abortSignal }),
      );
    } catch (error) {
      if (!(error instanceof UploadFailure) || error.status === null) throw error;
      const { code } = error;
      this.#ports.logger.warn({ bucket: Bucket, code }, "the new bucket may be open to the public");
    }
  }

  get #inBucket() {
    return { Bucket: this.#target.bucket };
  }

  async #orAbsent<T>(
    signal: AbortSignal,
    call: (loaded: Loaded, signal: AbortSignal) => Promise<T>,
  ): Promise<T | undefined> {
    try {
      return await this.#send(0, signal, call);
    } catch (error) {
      if (!(error instanceof UploadFailure) || error.status !== 404) throw error;
      if (error.code === "NoSuchBucket") throw error;
      return undefined;
    }
  }

  /** Sends a request, and once more where that alone may help. */
  async #send<T>(
    bytes: number,
    signal: AbortSignal,
    call: (loaded: Loaded, signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const { requestMs, msPerByte } = requestDeadlines;
    const tried = new Set<string>();
    for (;;) {
      try {
        this.#loaded ??= this.#load();
        const loaded = await this.#loaded;
        const ms = requestMs + bytes * msPerByte;
        await this.#findCredentials(loaded.client, signal);
        return await withDeadline(this.#ports.timers, ms, signal, (inner) => call(loaded, inner));
      } catch (error) {
        if (signal.aborted) throw signal.reason;
        const failure = failureOfClient(error);
        const { class: kind } = failure;
        if ((kind !== "clock" && kind !== "expired") || tried.has(kind)) throw failure;
        tried.add(kind);
        // Others use the old client still: it ends its idle connections by itself.
        if (kind === "expired") this.#loaded = undefined;
      }
    }
  }

  async #findCredentials(client: S3Client, signal: AbortSignal): Promise<void> {
    try {
      await withDeadline(this.#ports.timers, requestDeadlines.credentialsMs, signal, () =>
        client.config.credentials(),
      );
    } catch (cause) {
      if (signal.aborted) throw signal.reason;
      this.#loaded = undefined; // a failed look-up is not kept
      throw new UploadFailure("no_credentials", { code: "NoCredentials", cause });
    }
  }

  async #load(): Promise<Loaded> {
    let sdk: S3Sdk;
    try {
      sdk = (await (this.#ports.load ?? loadS3Sdk)()) as S3Sdk;
    } catch (cause) {
      this.#loaded = undefined;
      throw new UploadFailure("no_client", { code: "NoClient", cause });
    }
    const { region, endpoint, credentials } = this.#target;
    const { connectMs, silenceMs } = requestDeadlines;
    const client = new sdk.S3Client({
      region,
      // Its retries cover 0.1 s, are not on our clock, and starve in a long outage.
      maxAttempts: 1,
      logger: silence, // or it writes to the console
      requestChecksumCalculation: "WHEN_REQUIRED",
      responseChecksumValidation: "WHEN_REQUIRED",
      requestHandler: { connectionTimeout: connectMs, socketTimeout: silenceMs },
      endpoint,
      forcePathStyle: endpoint !== undefined,
      credentials,
    });
    return { sdk, client };
  }
}

function hollow(
  code: string,
  answer: { readonly $metadata: { readonly httpStatusCode?: number } },
) {
  return new UploadFailure("retry", { code, status: answer.$metadata.httpStatusCode });
}

/** Reads a whole body. Destroys it when the signal fires: the client leaves a body that is read alone. */
async function readWhole(body: Readable, bytes: number, signal: AbortSignal): Promise<Buffer> {
  const whole = Buffer.concat(await addAbortSignal(signal, body).toArray());
  if (whole.length !== bytes) throw new UploadFailure("retry", { code: "CutBody" });
  return whole;
}

/**
 * Calls with a signal that is aborted with `outer`, or `ms` later; and rejects then, also when the
 * call takes no notice of its signal.
 *
 * @throws `UploadFailure` `retry`: nothing came in time. The reason of `outer`, or what the call rejects with.
 */
export async function withDeadline<T>(
  timers: Timers,
  ms: number,
  outer: AbortSignal,
  call: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const late = new AbortController();
  const giveUp = () => late.abort(new UploadFailure("retry", { code: "DeadlinePassed" }));
  const cancel = timers.after(ms, giveUp, { holdsProcess: true });
  const signal = AbortSignal.any([outer, late.signal]);
  try {
    signal.throwIfAborted();
    const answer = await until(call(signal), { signal });
    signal.throwIfAborted();
    return answer as T;
  } finally {
    cancel();
  }
}

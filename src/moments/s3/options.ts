/** How a bucket is reached. Nothing here is looked up in the environment. */
export interface S3TargetOptions {
  /** The bucket. Without one, nothing ever leaves the machine. */
  readonly bucket: string;
  /** @default "us-east-1" */
  readonly region?: string | undefined;
  /**
   * The address of a service that is not AWS, such as `https://objects.example.org`. Must be https,
   * but for this machine itself. Default: AWS in `region`.
   */
  readonly endpoint?: string | undefined;
  /**
   * Fixed keys, or what returns them. Default: where the AWS tools look (environment, files, the
   * machine's role).
   */
  readonly credentials?: S3Credentials | (() => Promise<S3Credentials>);
  /**
   * Whether a bucket that is missing is created.
   *
   * @default false
   */
  readonly createBucket?: boolean;
  /** The 12 digits of the account that must own the bucket. Some services do not look at it. */
  readonly bucketOwner?: string;
  /**
   * Which encryption at rest is asked for. `"none"`: the service's own default. Some services refuse
   * the header: then nothing is sent, rather than sent without.
   *
   * @default "AES256" on AWS, "none" on an endpoint of one's own
   */
  readonly encryption?: "AES256" | "none";
}

export interface S3Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
}

export interface ResolvedS3Options {
  readonly bucket: string;
  readonly region: string;
  readonly endpoint: string | undefined;
  readonly credentials: S3TargetOptions["credentials"];
  readonly createBucket: boolean;
  readonly bucketOwner: string | undefined;
  readonly encryption: "AES256" | "none";
}

/** @throws TypeError when an option cannot be used. */
export function resolveS3Options(options: S3TargetOptions): ResolvedS3Options {
  const { bucket, endpoint, bucketOwner, region = "us-east-1" } = options;
  if (typeof bucket !== "string" || !/^[A-Za-z0-9][A-Za-z0-9._-]{1,62}$/.test(bucket)) {
    throw new TypeError("bucket must be the name of a bucket");
  }
  if (typeof region !== "string" || !/^[A-Za-z0-9-]{1,64}$/.test(region)) {
    throw new TypeError("region must be the name of a region");
  }
  if (bucketOwner !== undefined && !/^\d{12}$/.test(bucketOwner)) {
    throw new TypeError("bucketOwner must be the 12 digits of an account");
  }
  if (endpoint !== undefined) checkEndpoint(endpoint);
  const encryption = options.encryption ?? (endpoint === undefined ? "AES256" : "none");
  if (encryption !== "AES256" && encryption !== "none") {
    throw new TypeError('encryption must be "AES256" or "none"');
  }
  const { credentials, createBucket = false } = options;
  return { bucket, region, endpoint, credentials, createBucket, bucketOwner, encryption };
}

function checkEndpoint(endpoint: string): void {
  const url = URL.canParse(endpoint) ? new URL(endpoint) : undefined;
  if (url === undefined || (url.protocol !== "https:" && url.protocol !== "http:")) {
    throw new TypeError("endpoint must be an http or https address");
  }
  if (url.username !== "" || url.password !== "") {
    throw new TypeError("endpoint must not hold a name or password: use credentials");
  }
  if (url.protocol === "http:" && !isLoopback(url.hostname)) {
    throw new TypeError("endpoint must be https: faces and voices never travel in the open");
  }
}

/** Whether a host is this machine, by its form alone: no name is looked up. */
function isLoopback(hostname: string): boolean {
  return hostname === "localhost" || hostname === "[::1]" || /^127(?:\.\d{1,3}){3}$/.test(hostname);
}

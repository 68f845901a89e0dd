import { byDefault, maybe, must, type Options, oneOf, resolveOptions } from "../../core/options.ts";

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
  readonly credentials?: S3Credentials | (() => Promise<S3Credentials>) | undefined;
  /**
   * Whether a bucket that is missing is created.
   *
   * @default false
   */
  readonly createBucket?: boolean | undefined;
  /**
   * Whether objects are sent with a SHA-256 in a header, which the service compares. `"off"`: for a
   * service that refuses it.
   *
   * @default "sha256"
   */
  readonly checksums?: "sha256" | "off" | undefined;
}

export interface S3Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
}

const like = (pattern: RegExp) => (value: unknown) =>
  typeof value === "string" && pattern.test(value);

const options = {
  region: byDefault("us-east-1", ["the name of a region", like(/^[A-Za-z0-9-]{1,64}$/)]),
  endpoint: maybe([
    "an https address without a name or a password. http is allowed for this machine only",
    isEndpoint,
  ]),
  credentials: maybe(),
  createBucket: byDefault(false),
  checksums: byDefault("sha256", oneOf("sha256", "off")),
  bucket: must(["the name of a bucket", like(/^[A-Za-z0-9][A-Za-z0-9._-]{1,62}$/)]),
} satisfies Options<S3TargetOptions>;

/** The options, checked and filled in. */
export type S3Target = ReturnType<typeof resolveTarget>;

/** @throws ThroughlineError `THROUGHLINE_CONFIGURATION`: an option cannot be used. */
export function resolveTarget(given: S3TargetOptions) {
  return resolveOptions("the options of a bucket", given, options);
}

/** Faces and voices never travel in the open. */
function isEndpoint(value: unknown): boolean {
  const url = typeof value === "string" && URL.canParse(value) ? new URL(value) : undefined;
  if (url === undefined || url.username !== "" || url.password !== "") return false;
  return url.protocol === "https:" || (url.protocol === "http:" && isLoopback(url.hostname));
}

/** Whether a host is this machine, by its form alone: no name is looked up. */
function isLoopback(hostname: string): boolean {
  return hostname === "localhost" || hostname === "[::1]" || /^127(?:\.\d{1,3}){3}$/.test(hostname);
}

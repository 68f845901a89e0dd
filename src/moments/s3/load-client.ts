/** The client library of AWS: an optional peer, 33 MB in memory, so loaded at the first upload. */
export type S3Sdk = typeof import("@aws-sdk/client-s3");
export type LoadS3Sdk = () => Promise<S3Sdk>;

/** The one place that imports it. */
export const loadS3Sdk: LoadS3Sdk = () => import("@aws-sdk/client-s3");

/** Why the upload of one package ended without it being there, other than by an error of S3. */
export type StopClass =
  /** Bytes on this machine are not those that the manifest tells of. Nothing was sent. */
  | "local_damage"
  /** Neither this machine nor the bucket has the package. */
  | "local_missing"
  /** Other bytes lie where our manifest belongs. Nothing was overwritten. */
  | "conflict"
  /** The service refuses right bytes as wrong ones, again and again. */
  | "digest"
  /** The service refuses encryption at rest; it is never left away silently. */
  | "encryption_refused"
  /** The copy lies at another service than the one that is configured. */
  | "other_target"
  /** Something that was sent is not there: it is sent again. */
  | "incomplete"
  /** Something has to be looked for in the bucket, and there is no right to list it. */
  | "unlistable"
  /** It took its ten minutes: others go first, and what was sent stays sent. */
  | "yield";

export class UploadStop extends Error {
  override readonly name = "UploadStop";
  readonly class: StopClass;

  constructor(stop: StopClass, options?: { readonly cause?: unknown }) {
    super(`the upload stopped: ${stop}`, options);
    this.class = stop;
  }
}

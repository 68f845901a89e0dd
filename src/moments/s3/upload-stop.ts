/** Why the upload of one package ended without it being there, other than by an error of S3. */
type StopClass =
  /** Bytes on this machine are not those that the manifest tells of. Nothing was sent. */
  | "local_damage"
  /** The package is not on this machine. */
  | "local_missing"
  /** Other bytes lie where our manifest belongs. Nothing was overwritten. */
  | "conflict"
  /** The copy lies at another service than the one that is configured. */
  | "other_target"
  /** Something that was sent is not there: it is sent again. */
  | "incomplete";

export class UploadStop extends Error {
  override readonly name = "UploadStop";
  readonly class: StopClass;

  constructor(stop: StopClass, options?: { readonly cause?: unknown }) {
    super(`the upload stopped: ${stop}`, options);
    this.class = stop;
  }
}

/** A file to import. It is only read. */
export interface Source {
  /** The name of the file without its folder, such as `telegram_42.jsonl`. */
  readonly name: string;
  /** Every iteration begins at the first byte: a source is read more than once. */
  readonly bytes: AsyncIterable<Uint8Array>;
  /** Milliseconds since 1970. */
  readonly modifiedAt?: number;
}

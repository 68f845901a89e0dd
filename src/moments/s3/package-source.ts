/** Where the bytes of one package come from: its folder, or a moment in memory. */
export interface PackageSource {
  /** The bytes of feedback.json. Rejects when there is no such package. */
  manifest(name: string): Promise<Buffer>;
  /** The bytes of one of its files, by the path that the manifest has. */
  part(name: string, path: string): Promise<Buffer>;
}

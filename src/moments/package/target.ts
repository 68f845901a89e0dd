// What the parts of the targets promise each other. The words of a package itself, its record and its
// manifest, are those of src/moments/package/package-format.ts.

/** What a target must know of a package before it exists: a part of its record. */
export interface PackageToSend {
  readonly name: string;
  readonly session_id: string;
  /** Without `upload` nothing is ever owed. */
  readonly consent: { readonly upload: boolean };
}

/** A copy of a package in a bucket, as its status has it. */
export interface RemoteCopy {
  readonly bucket: string;
  /** Of each of its keys, with the last slash. `""`: not known, it is looked for by the name. */
  readonly prefix: string;
}

/**
 * What is owed to a target, as far as a directory of packages must tell of it, in this order, so that
 * no finished package is ever unknown to it. Every call may come again, after a crash or an error.
 */
export interface OwedPackages {
  /** A package of this name is about to be written. Resolves when that would survive a power cut. */
  saving(coming: PackageToSend): Promise<void>;
  /** It is durable. */
  saved(name: string): Promise<void>;
  /** Nothing came of it. */
  dropped(name: string): Promise<void>;
  /**
   * It is about to be deleted, and its copies with it. Resolves as `saving` does.
   *
   * @returns how many things that were still to be sent are not sent any more.
   */
  forgotten(gone: PackageToSend, copies: readonly RemoteCopy[]): Promise<number>;
  /** Whether something is still to be sent: then no retention may remove it. */
  owes(name: string): Promise<boolean>;
  /** Where a package is to go that is still owed; none if it is not. */
  coming?(name: string): Promise<readonly RemoteCopy[]>;
  /** Owes the object that says that a package is not to be used any more, beside each copy of it. */
  retracted?(
    name: string,
    copies: readonly RemoteCopy[],
    retraction: RemoteRetraction,
  ): Promise<void>;
}

/** What a retraction tells whoever reads the bucket. */
export interface RemoteRetraction {
  /** Seconds since 1970. */
  readonly at: number;
  readonly by: string | null;
  readonly reason: string | null;
  readonly superseded_by: string | null;
}

import { classify, isSlowDown, noOptionalHeaders, type OptionalHeaders } from "./error-class.ts";
import {
  type ListedObject,
  type ObjectHead,
  type ObjectPage,
  type ObjectToPut,
  S3Error,
  type S3Port,
  type StoredAnswer,
} from "./s3-port.ts";
import { UploadStop } from "./upload-stop.ts";

/** Requests at once for objects: 4 took 1.5 s for a package where one took 2.5 s, and 16 1.4 s. */
const maxParallel = 4;
/** Pages of one listing: a package has some 250 objects, a page 1,000. */
const maxPages = 10_000;

/** What a service turned out to understand. */
interface Features {
  readonly condition: boolean;
  readonly checksum: ObjectToPut["checksum"];
}

type NewObject = Omit<ObjectToPut, "checksum" | "onlyIfAbsent">;

interface S3BucketRules {
  /** Whether a missing bucket is made. */
  readonly createBucket: boolean;
  /** Whether objects are sent with a demand for encryption at rest. */
  readonly encrypts: boolean;
}

/**
 * A bucket and what was learned of its service while this process lives: which optional headers it
 * refuses, and how many requests at once it takes. Whatever is solved by asking again at once is
 * solved here: clocks that are apart, and credentials that have expired.
 */
export class S3Bucket {
  readonly #port: S3Port;
  readonly #rules: S3BucketRules;
  #features: Features = { condition: true, checksum: "sha256" };
  #parallel: number = maxParallel;
  #isKnown = false;

  constructor(port: S3Port, rules: S3BucketRules) {
    this.#port = port;
    this.#rules = rules;
  }

  /** How many objects may be sent at once: 4, halved whenever the service asks for less. */
  get parallel(): number {
    return this.#parallel;
  }

  /** A package went up without complaints: one more at once. */
  widen(): void {
    this.#parallel = Math.min(this.#parallel + 1, maxParallel);
  }

  close(): void {
    this.#port.close();
  }

  /**
   * Makes sure, once, that the bucket is there and ours to use; nothing is sent before. A missing
   * one is made only when that was asked for.
   *
   * @returns whether it was made, and whether it could be closed to the public.
   */
  async open(signal: AbortSignal): Promise<"there" | "made" | "made_open"> {
    if (this.#isKnown) return "there";
    const isThere = await this.#looksThere(signal);
    const made = isThere ? "there" : await this.#make(signal);
    this.#isKnown = true;
    return made;
  }

  /** The next upload looks at the bucket again. */
  forget(): void {
    this.#isKnown = false;
  }

  async #looksThere(signal: AbortSignal): Promise<boolean> {
    try {
      return await this.#insist(() => this.#port.hasBucket(signal));
    } catch (error) {
      if (!(error instanceof S3Error) || error.kind !== "answer") throw error;
      if (classify(error) === "retry") throw error;
      // An answer to HEAD has no body that says why: a listing has one.
      await this.#insist(() => this.#port.list("feedback/", undefined, signal));
      return true;
    }
  }

  async #make(signal: AbortSignal): Promise<"made" | "made_open"> {
    if (!this.#rules.createBucket) {
      throw new S3Error({ kind: "answer", code: "NoSuchBucket", status: 404 });
    }
    try {
      await this.#insist(() => this.#port.createBucket(signal));
    } catch (error) {
      if (!(error instanceof S3Error) || error.code !== "BucketAlreadyExists") throw error;
      // Somebody else's: nothing will ever go there.
      throw new S3Error({ kind: "answer", code: error.code, status: 403 }, { cause: error });
    }
    try {
      await this.#insist(() => this.#port.blockPublicAccess(signal));
      return "made";
    } catch (error) {
      if (!(error instanceof S3Error) || error.kind !== "answer") throw error;
      return "made_open";
    }
  }

  /** Every object under a prefix; `undefined` without the right to list. */
  async list(
    prefix: string,
    signal: AbortSignal,
  ): Promise<ReadonlyMap<string, ListedObject> | undefined> {
    const found = new Map<string, ListedObject>();
    let after: string | undefined;
    for (let page = 0; page < maxPages; page++) {
      const from = after;
      let answer: Awaited<ReturnType<S3Port["list"]>>;
      try {
        answer = await this.#insist(() => this.#port.list(prefix, from, signal));
      } catch (error) {
        if (error instanceof S3Error && error.code === "AccessDenied") return undefined;
        throw error;
      }
      for (const object of answer.objects) found.set(object.key, object);
      if (answer.next === undefined) return found;
      after = answer.next;
    }
    throw new S3Error({ kind: "hollow", code: "EndlessListing" });
  }

  /** One page of the objects under a prefix. */
  page(prefix: string, after: string | undefined, signal: AbortSignal): Promise<ObjectPage> {
    return this.#insist(() => this.#port.list(prefix, after, signal));
  }

  head(key: string, signal: AbortSignal): Promise<ObjectHead | undefined> {
    return this.#insist(() => this.#port.head(key, signal));
  }

  get(key: string, signal: AbortSignal): Promise<Buffer | undefined> {
    return this.#insist(() => this.#port.get(key, signal));
  }

  remove(key: string, signal: AbortSignal): Promise<{ readonly versionsRemain: boolean }> {
    return this.#insist(() => this.#port.remove(key, signal));
  }

  /** Stores an object, over whatever is at its key. */
  put(object: NewObject, signal: AbortSignal): Promise<StoredAnswer> {
    return this.#orRefused(() => this.#put(object, false, signal));
  }

  /**
   * Stores an object where nothing is, by a condition that the service checks; for a service that
   * knows none, by looking first. Never over what is there.
   */
  async putIfAbsent(object: NewObject, signal: AbortSignal): Promise<"stored" | "occupied"> {
    if (this.#features.condition) {
      try {
        await this.#put(object, true, signal);
        return "stored";
      } catch (error) {
        if (!(error instanceof S3Error)) throw error;
        const kind = classify(error, this.#sent(true, this.#features.checksum));
        if (kind === "conflict") return "occupied";
        if (kind !== "optional_header") throw error;
      }
    }
    if ((await this.head(object.key, signal)) !== undefined) return "occupied";
    await this.put(object, signal);
    this.#features = { ...this.#features, condition: false }; // it went without: that was it
    return "stored";
  }

  /** Finds out by sending which digest the service takes. */
  async #put(object: NewObject, onlyIfAbsent: boolean, signal: AbortSignal): Promise<StoredAnswer> {
    const { checksum } = this.#features;
    const first = this.#sent(onlyIfAbsent, checksum);
    try {
      return await this.#insist(
        () => this.#port.put({ ...object, checksum, onlyIfAbsent }, signal),
        first,
      );
    } catch (error) {
      const isOptional = error instanceof S3Error && classify(error, first) === "optional_header";
      if (!isOptional || checksum === "md5") throw error;
    }
    const answer = await this.#insist(
      () => this.#port.put({ ...object, checksum: "md5", onlyIfAbsent }, signal),
      this.#sent(onlyIfAbsent, "md5"),
    );
    this.#features = { ...this.#features, checksum: "md5" };
    return answer;
  }

  #sent(condition: boolean, checksum: ObjectToPut["checksum"]): OptionalHeaders {
    return { condition, checksum: checksum === "sha256", encryption: this.#rules.encrypts };
  }

  /** Encryption is the one header that is never left away: not sent is better than sent in the open. */
  async #orRefused<T>(call: () => Promise<T>): Promise<T> {
    try {
      return await call();
    } catch (cause) {
      const sent = this.#sent(false, "md5");
      if (!(cause instanceof S3Error) || !this.#rules.encrypts) throw cause;
      if (classify(cause, sent) !== "optional_header") throw cause;
      throw new UploadStop("encryption_refused", { cause });
    }
  }

  /** Asks again, at once, where that alone may help. */
  async #insist<T>(call: () => Promise<T>, sent: OptionalHeaders = noOptionalHeaders): Promise<T> {
    const tried = { clock: false, expired: false };
    for (;;) {
      try {
        return await call();
      } catch (error) {
        if (!(error instanceof S3Error)) throw error;
        if (isSlowDown(error)) this.#parallel = Math.max(this.#parallel >> 1, 1);
        const kind = classify(error, sent);
        if ((kind !== "clock" && kind !== "expired") || tried[kind]) throw error;
        tried[kind] = true;
        if (kind === "expired") this.#port.reloadCredentials();
      }
    }
  }
}

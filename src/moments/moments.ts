// What people react to, kept as packages: joins the recorder, the directory of packages, and the loop that
// sends them.

import { join } from "node:path";
import type { Clock } from "../core/clock.ts";
import { callBack, type Logger } from "../core/logger.ts";
import type { Runtime } from "../core/runtime.ts";
import { freeSpace, realDisk } from "../core/storage/disk/disk.ts";
import { isThere } from "../core/storage/files/file-ports.ts";
import type { OwnHome } from "../core/storage/storage.ts";
import { KeptConsent } from "./directory/consent-file.ts";
import { type Mark, PackageDirectory } from "./directory/package-directory.ts";
import type { DeleteReceipt } from "./directory/remove.ts";
import { isMeant, type Selection } from "./directory/whose.ts";
import type { MomentsSettings } from "./options.ts";
import { packageId } from "./package/package-name.ts";
import type { Consent, UploadTarget } from "./package/record.ts";
import { type AutoEvent, autoRecord } from "./record/auto-record.ts";
import type { ConsentInput } from "./record/consent.ts";
import type { ReadFile } from "./record/moment.ts";
import { MomentRecorder, type MomentStats } from "./record/moment-recorder.ts";
import type { MomentEvent, Receipt, ReceiptState } from "./record/receipt.ts";
import { resolveTarget, type S3Target } from "./s3/options.ts";
import { isClientInstalled, S3Bucket } from "./s3/s3-bucket.ts";
import { refusals } from "./s3/upload-failure.ts";
import { bucketSink } from "./upload/bucket-sink.ts";
import { type CutOffReceipt, forgetInBucket, removeCutOff } from "./upload/in-bucket.ts";
import {
  type EffectiveMode,
  effectiveMode,
  type StorageMode,
  type StorageSettings,
} from "./upload/mode.ts";
import { Outbox, type OutboxStatistics } from "./upload/outbox.ts";

export interface MomentsStatistics extends MomentStats {
  readonly storage_mode: EffectiveMode["mode"];
  readonly storage_reason: EffectiveMode["reason"];
  readonly s3_bucket: string | null;
  /** Of the packages in this home, counted some seconds ago; `null`: not counted yet. */
  readonly package_bytes: number | null;
  readonly outbox: OutboxStatistics | null;
}

export interface ForgetReceipt extends DeleteReceipt {
  /** With `inBucket`: whether all of the bucket could be looked at. If not, ask again. */
  readonly isBucketSearched?: boolean | undefined;
}

/** The rolling buffers and the packages of one companion. `startMoments` makes it. */
export class Moments implements AsyncDisposable {
  readonly recorder: MomentRecorder;
  readonly packages: PackageDirectory;
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.recorder = parts.recorder;
    this.packages = parts.packages;
    parts.size.look();
  }

  statistics(): MomentsStatistics {
    const { settings, loop, lacks, size } = this.#parts;
    const { mode, reason, mayUpload } = effectiveMode({ ...settings, lacks: lacks?.() });
    return {
      ...this.recorder.stats,
      storage_mode: mode,
      storage_reason: reason,
      package_bytes: size.look(),
      s3_bucket: mayUpload ? (settings.bucket ?? null) : null,
      outbox: loop?.statistics() ?? null,
    };
  }

  /**
   * From now on this is agreed to, and nothing else, in later runs too. What is withdrawn ends at once, and
   * packages that wait for an upload stay here: see `Outbox.allow`. What was recorded before stays as it was
   * agreed to then, until it is forgotten.
   *
   * @throws ThroughlineError `THROUGHLINE_INVALID`: nothing has changed. `THROUGHLINE_UNAVAILABLE`: it
   * holds in this run, and could not be kept for the next.
   */
  async agree(input: ConsentInput): Promise<Consent> {
    this.recorder.agree(input);
    return await this.#keep("here");
  }

  /**
   * Another process of this companion was told what is agreed to. The later of the two holds.
   *
   * @throws ThroughlineError as `agree`.
   */
  async agreedElsewhere(consent: unknown): Promise<void> {
    if (this.recorder.agreedElsewhere(consent)) await this.#keep("elsewhere");
  }

  /** Calls back once something else is agreed to. @returns a function that ends it. */
  onAgreed(listener: (consent: Consent, by: "here" | "elsewhere") => void): () => void {
    return this.#parts.agreements.on(listener);
  }

  /** Something that a rule may take for a reaction. `undefined`: none did, or rules are off. */
  happened(event: AutoEvent, chatId?: string): Receipt | undefined {
    const { react } = this.#parts;
    const answer = react && this.recorder.lastAnswer(chatId);
    return answer && react?.(event, answer.text, chatId ?? answer.chatId ?? undefined);
  }

  /** Calls back at every event of a receipt. @returns a function that ends it. */
  onEvent(listener: (event: MomentEvent) => void): () => void {
    return this.#parts.events.on(listener);
  }

  /**
   * Forgets moments: those that wait to be saved, packages, and their copies in buckets, which are
   * deleted there as soon as the bucket answers. Of a chat, also what the buffers hold. Of a message,
   * the moments that hold it.
   *
   * @param inBucket also what the bucket has and this home does not know of, such as packages of another
   *   device: all of the bucket is looked through.
   */
  async forget(
    selection: Selection,
    { inBucket = false }: { readonly inBucket?: boolean | undefined } = {},
  ): Promise<ForgetReceipt> {
    const { recorder, packages } = this;
    const { loop } = this.#parts;
    await recorder.forget((facts) => isMeant(selection, facts.name, [facts]) === true);
    if ("chatId" in selection) await recorder.forgetChat(selection.chatId);
    const receipt = await packages.delete(selection);
    recorder.deleted(receipt.deleted);
    for (const name of receipt.deleted) this.#retracted(name);
    if (!inBucket || loop === undefined) return receipt;
    return { ...receipt, isBucketSearched: await forgetInBucket(packages, loop, selection) };
  }

  /**
   * Takes a reaction back: it stays, no export has it, and its copies in buckets are marked too, those
   * that are still to come as well.
   *
   * @returns `bucket`: it is not here; the mark goes to the bucket, which has it.
   * @throws ThroughlineError `THROUGHLINE_NOT_FOUND`
   */
  async retract(name: string, mark: Mark): Promise<"here" | "bucket"> {
    await this.packages.retract(name, mark);
    this.#retracted(name);
    return (await this.packages.has(name)) ? "here" : "bucket";
  }

  /**
   * Removes from the bucket what uploads left there that ended before their manifest: of any device, if
   * nothing was added for a day.
   */
  removeCutOff(): Promise<CutOffReceipt> {
    const { loop, clock } = this.#parts;
    return removeCutOff(this.packages, loop, clock.now());
  }

  /** Tries again now what is pending or dead. Resolves when nothing is due any more. */
  async upload(): Promise<void> {
    const { loop } = this.#parts;
    await loop?.probe();
    await loop?.idle();
  }

  /**
   * Takes nothing more, and saves what waits for at most 4 s; what is left then is lost, and reported.
   * Uploads that are pending go up in the next run.
   */
  async close(): Promise<void> {
    const { loop, size } = this.#parts;
    // First: what waits goes to the disk.
    await loop?.close();
    await this.recorder.close();
    await size.close();
    await this.packages.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** Reports what is agreed to now, and keeps it for later runs. */
  async #keep(by: "here" | "elsewhere"): Promise<Consent> {
    const { consent } = this.recorder;
    this.#parts.agreements.tell(consent, by);
    const { loop, consent: file } = this.#parts;
    const [kept] = await Promise.all([file.keep(consent), loop?.allow(consent.upload)]);
    return kept;
  }

  #retracted(name: string): void {
    const receipt = { id: packageId(name), name, accepted: true, durable: false, uploaded: false };
    this.#parts.events.tell({ type: "feedback.retracted", receipt });
  }
}

/** What moments are made of. */
type Parts = Awaited<ReturnType<typeof openParts>>;

/** Space on the disk that packages never take, in bytes: it is the chats'. */
const ofChats = 256 * 1024 * 1024;

/**
 * Opens what the moments of a home are made of. What a dead process left is finished or removed first.
 *
 * @throws ThroughlineError `THROUGHLINE_UNAVAILABLE`: the disk refused. `THROUGHLINE_CONFIGURATION`: the
 *   bucket cannot be used.
 */
export async function openParts(
  ports: Runtime,
  home: OwnHome,
  readFile: ReadFile,
  options: MomentsSettings,
) {
  const { clock, logger } = ports;
  const {
    s3,
    mode: asked,
    autoRecord: isAuto,
    persona,
    withSkills,
    hurtful,
    ...recording
  } = options;
  const events = listeners<[MomentEvent]>(logger);
  const agreements = listeners<[consent: Consent, by: "here" | "elsewhere"]>(logger);
  const settings: StorageSettings = { mode: asked, bucket: s3?.bucket };
  const { mode, reason, mayUpload } = effectiveMode(settings);
  if (reason === "unknown_mode") logger.warn({ reason }, "packages stay on this machine");
  const reached = mayUpload && s3 ? resolveTarget(s3) : undefined;
  const target = reached && targetOf(reached);
  const packages = await PackageDirectory.open({
    ...ports,
    freeSpace: async (path) => (await freeSpace(path)) - ofChats,
    guard: home.assertWriter,
    path: join(home.path, "feedback"),
    // What is recorded while no bucket is named stays here.
    upload: target && { target, keepLocal: mode !== "s3" },
  });
  const sending = reached && sender(ports, packages, reached, mode);
  const written = { disk: realDisk, unsyncedNames: new Set<string>(), guard: home.assertWriter };
  const consent = new KeptConsent({ ...ports, ...written }, home.path);
  const agreed = await consent.read();
  const recorder = new MomentRecorder({
    ...recording,
    ...ports,
    readFile,
    sink: sending?.sink ?? packages,
    agreed,
    known: (id) => receiptOf(id, packages),
    onEvent: events.tell,
  });
  sending?.loop.onUploaded((name) => recorder.uploaded(name));
  // Before anybody was asked each package goes by its own consent: one that was imported, too.
  const isUnasked = agreed === undefined && recording.consent === undefined;
  await sending?.loop.allow(isUnasked || recorder.consent.upload);
  await sending?.loop.start();
  const react = isAuto ? autoRecord((input) => recorder.record(input), clock) : undefined;
  const size = packageBytes(packages, clock);
  const told = { events, agreements };
  return { ...sending, ...told, packages, recorder, clock, consent, settings, react, size };
}

/** What sends the packages of a home to a bucket. */
function sender(ports: Runtime, packages: PackageDirectory, s3: S3Target, mode: StorageMode) {
  let hasClient = isClientInstalled();
  if (!hasClient) ports.logger.error({ class: "no_client" }, refusals.no_client);
  const connect = (name: string) => new S3Bucket({ ...s3, bucket: name }, ports);
  const loop = new Outbox({ ...ports, packages, target: targetOf(s3), connect });
  const first = mode === "s3" ? "bucket" : "disk";
  const sink = bucketSink({ ...ports, outbox: loop, packages, first });
  /** What the last attempt to upload lacked. */
  const lacks = () => {
    hasClient ||= isClientInstalled();
    const kind = hasClient ? loop.targetError?.class : "no_client";
    return kind === "no_credentials" || kind === "no_client" ? kind : undefined;
  };
  return { loop, sink, lacks };
}

function targetOf({ bucket, region, endpoint }: S3Target): UploadTarget {
  return { bucket, region, endpoint: endpoint ?? null };
}

/** Those who want to be told of something. `on` returns what ends it. */
function listeners<A extends readonly unknown[]>(logger: Logger) {
  const all = new Set<(...args: A) => void>();
  return {
    tell: (...args: A) => callBack(all, logger, ...args),
    on: (listener: (...args: A) => void) => {
      all.add(listener);
      return () => void all.delete(listener);
    },
  };
}

/** Of a package that an earlier run made. Whether it was uploaded too is with its status. */
function receiptOf(id: string, packages: PackageDirectory): ReceiptState | undefined {
  const known = packages.known(id);
  if (known === undefined) return undefined;
  return { id, name: known.name, accepted: true, durable: true, uploaded: !known.isHere };
}

/**
 * Works with the packages of a home in which no moments are kept now. Copies in buckets of what it forgets are
 * deleted by the next run that uploads. `undefined`: it has none.
 */
export async function withPackagesOf<T>(
  home: OwnHome,
  work: (kept: Pick<Moments, "packages" | "forget">) => Promise<T>,
): Promise<T | undefined> {
  const path = join(home.path, "feedback");
  if (!(await isThere(realDisk, path))) return undefined;
  await using packages = await PackageDirectory.open({ path, guard: home.assertWriter });
  const forget = (selection: Selection) => packages.delete(selection);
  return await work({ packages, forget });
}

/** How long a count holds, in milliseconds, when nothing is known to have changed. */
const freshMs = 5_000;

/**
 * Counts in the background how much the packages of a directory take: reading 10,000 of them takes seconds,
 * and no caller waits for that.
 */
function packageBytes(packages: PackageDirectory, clock: Clock) {
  let bytes: number | null = null;
  let countedAt = Number.NEGATIVE_INFINITY;
  let counting: Promise<void> | undefined;
  let isOver = false;
  const count = async () => {
    let sum = 0;
    for await (const entry of packages.entries()) {
      if (isOver) return;
      sum += entry.bytes;
    }
    bytes = sum;
  };
  return {
    /** As it was counted last, at most some seconds ago; `null` before the first count. */
    look(): number | null {
      const now = clock.monotonic();
      if (counting === undefined && now - countedAt > freshMs) {
        countedAt = now;
        const over = () => {
          counting = undefined;
        };
        // Where the disk refuses, the number stays what it was.
        counting = count().then(over, over);
      }
      return bytes;
    },
    async close(): Promise<void> {
      isOver = true;
      await counting;
    },
  };
}

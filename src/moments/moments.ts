// `import … from "throughline/moments"`: what people react to, kept as packages. Joins the recorder,
// the directory of packages, and the uploads that are owed.
import { join } from "node:path";
import { type Clock, isoTime, systemClock } from "../core/clock.ts";
import { type NewId, randomId } from "../core/ids.ts";
import { type Logger, silentLogger } from "../core/logger.ts";
import { realDisk } from "../core/storage/disk/disk.ts";
import type { NewReport } from "../core/storage/files/file-ports.ts";
import type { Timers } from "../core/timers.ts";
import { type DeleteReceipt, isMeant, type Selection } from "./directory/delete-packages.ts";
import { KeptConsent } from "./directory/kept-consent.ts";
import { openPackageDirectory } from "./directory/open-package-directory.ts";
import { PackageBytes } from "./directory/package-bytes.ts";
import type { Mark, PackageDirectory } from "./directory/package-directory.ts";
import { isThere } from "./directory/remove-tree.ts";
import { systemJitter } from "./outbox/backoff.ts";
import { BucketSink } from "./outbox/bucket-sink.ts";
import {
  type EffectiveMode,
  effectiveMode,
  isStorageMode,
  type StorageMode,
  type StorageSettings,
} from "./outbox/effective-mode.ts";
import {
  type ForgetReceipt,
  forgetPackages,
  retractPackage,
  searchBy,
  searchLater,
} from "./outbox/forget-packages.ts";
import { Outbox } from "./outbox/outbox.ts";
import { tellRefusal } from "./outbox/tell-refusal.ts";
import { unattendedNotes } from "./outbox/unattended.ts";
import { Uploader } from "./outbox/uploader.ts";
import type { LocalPackages, OutboxStatistics } from "./outbox/uploader-ports.ts";
import type { Consent } from "./package/record.ts";
import { Agreements } from "./record/agreements.ts";
import { type AutoEvent, AutoRecord } from "./record/auto-record.ts";
import { type ConsentInput, initialConsent } from "./record/consent.ts";
import { type MomentFacts, MomentRecorder, type MomentStats } from "./record/moment-recorder.ts";
import type { MomentEvent, MomentRecorderOptions } from "./record/options.ts";
import type { Receipt, ReceiptState } from "./record/receipt.ts";
import { resolveS3Options, type S3TargetOptions } from "./s3/options.ts";
import { SdkS3Port } from "./s3/sdk-port.ts";

export type { Selection } from "./directory/delete-packages.ts";
export type { Mark, PackageDirectory } from "./directory/package-directory.ts";
export type { ForgetReceipt } from "./outbox/forget-packages.ts";
export type { Consent } from "./package/record.ts";
export { type AutoEvent, AutoRecord } from "./record/auto-record.ts";
export type { AudioPush, FramePush, Resample, SourceTime } from "./record/buffers.ts";
export { type ConsentInput, consentWording } from "./record/consent.ts";
export type { DraftAudio, DraftFrame, MomentContent, Redact } from "./record/draft.ts";
export type { PushResult } from "./record/frame-buffer.ts";
export type { MomentInput, TranscriptMessage } from "./record/label.ts";
export type { BufferLimits } from "./record/limits.ts";
export type { NewMessage } from "./record/message-buffer.ts";
export {
  type MomentFacts,
  MomentRecorder,
  type MomentStats,
} from "./record/moment-recorder.ts";
export type { MomentEvent, MomentRecorderOptions } from "./record/options.ts";
export type { AudioChunk } from "./record/pcm.ts";
export type { FrameEncoder, RawFrame } from "./record/raw-frames.ts";
export type { Receipt, ReceiptReason, ReceiptState } from "./record/receipt.ts";
export {
  patHintKind,
  reactionsPrompt,
  rememberSkills,
  type Skill,
  type SkillCall,
} from "./record/skills.ts";
export type { S3TargetOptions } from "./s3/options.ts";
export { type FeedOptions, feedCompanion, feedTurns } from "./turns/feed.ts";
export { recallWords } from "./turns/recall.ts";
export { offerSkills } from "./turns/skills.ts";
export { transcriptUpTo } from "./turns/transcript.ts";

export interface MomentsOptions
  extends Omit<
    MomentRecorderOptions,
    | "sink"
    | "sessionId"
    | "software"
    | "clock"
    | "timers"
    | "logger"
    | "known"
    | "random"
    | "agreed"
  > {
  /** The run's id: 8 hexadecimal digits. */
  readonly sessionId: string;
  /** What writes the packages: stored in each. */
  readonly software: { readonly name: string; readonly version: string };
  /**
   * Where packages go: `local`; `local+s3`, to the disk and then to the bucket; `s3`, to the bucket,
   * and to the disk while that is not to be had.
   * @default "local+s3", which is `local` as long as no bucket is named
   */
  readonly mode?: StorageMode;
  /** The same as somebody wrote it: an unknown one is `local`, and said. `mode` goes before it. */
  readonly modeText?: string | undefined;
  /**
   * Records by rule too: a long pat, and words that hurt, one of either in 30 s.
   * @default false
   */
  readonly autoRecord?: boolean;
  /** The bucket. Without one, nothing ever leaves the machine. */
  readonly s3?: S3TargetOptions | undefined;
}

/** What lies below: a home of which this process is the one writer. */
export interface MomentsPorts {
  readonly home: string;
  /** Throws when this process is no longer the writer. */
  readonly guard: () => void;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly newId: NewId;
  readonly logger: Logger;
}

export interface MomentsStatistics extends MomentStats {
  readonly storage_mode: EffectiveMode["mode"];
  readonly storage_reason: EffectiveMode["reason"];
  readonly s3_bucket: string | null;
  /** Of the packages in this home, counted some seconds ago; `null`: not counted yet. */
  readonly package_bytes: number | null;
  readonly outbox: OutboxStatistics | null;
}

export interface SweepReceipt {
  /** Owed as deletions. */
  readonly remote: DeleteReceipt["remote"];
  /** False: the bucket was away, or larger than what a minute is enough for. */
  readonly isBucketSearched: boolean;
}

/** The rolling buffers and the packages of one companion. */
export interface Moments extends AsyncDisposable {
  readonly recorder: MomentRecorder;
  readonly packages: PackageDirectory;
  statistics(): MomentsStatistics;
  /**
   * From now on this is agreed to, and nothing else, in later runs too. What is withdrawn ends at once;
   * what was recorded before stays as it was agreed to then, until it is forgotten.
   *
   * @throws ThroughlineError `THROUGHLINE_INVALID`: nothing has changed. `THROUGHLINE_UNAVAILABLE`: it
   * holds in this run, and could not be kept for the next.
   */
  agree(input: ConsentInput): Promise<Consent>;
  /**
   * Another process of this companion was told what is agreed to. The later of the two holds.
   *
   * @throws ThroughlineError as `agree`.
   */
  agreedElsewhere(consent: unknown): Promise<void>;
  /** Calls back once something else is agreed to. @returns a function that ends it. */
  onAgreed(listener: (consent: Consent, by: "here" | "elsewhere") => void): () => void;
  /** Something that a rule may take for a reaction. `undefined`: none did, or rules are off. */
  happened(event: AutoEvent, chatId?: string): Receipt | undefined;
  /** Calls back at every event of a receipt. @returns a function that ends it. */
  onEvent(listener: (event: MomentEvent) => void): () => void;
  /**
   * Forgets moments, wherever they are: those that wait to be saved, packages, and what is owed; their
   * copies in buckets are owed as deletions. Of a chat, also what the buffers hold. Of a message, the
   * moments that hold it; the bucket is searched for more of them later.
   */
  forget(selection: Selection): Promise<ForgetReceipt>;
  /**
   * Takes a reaction back: it stays, no export has it, and its copies in buckets are marked too, those
   * that are still to come as well.
   *
   * @returns `bucket`: it is not here; the mark is owed to the bucket, which has it, or which was away
   * and is searched for it once it is back.
   * @throws ThroughlineError `THROUGHLINE_NOT_FOUND`
   */
  retract(name: string, mark: Mark): Promise<"here" | "bucket">;
  /**
   * Owes the deletion of what uploads left in the bucket that ended before their manifest: of any
   * device, if nothing was added for a day.
   */
  sweep(): Promise<SweepReceipt>;
  /** Tries again now what is owed and waits, or was refused. */
  upload(): Promise<void>;
  /**
   * Takes nothing more, and saves what waits for at most 4 s; what is left then is lost, and reported.
   * Uploads that are pending go up in the next run.
   */
  close(): Promise<void>;
}

/**
 * Opens the moments of a home. What a dead process left is finished or set aside first.
 *
 * @throws ThroughlineError `THROUGHLINE_UNAVAILABLE`: the disk refused. TypeError: an option is wrong.
 */
export async function openMoments(ports: MomentsPorts, options: MomentsOptions): Promise<Moments> {
  const { home, guard, clock, newId, logger, timers } = ports;
  const { s3, mode: asked, modeText, autoRecord = false, onEvent, ...recording } = options;
  if (asked !== undefined && !isStorageMode(asked)) throw new TypeError("mode is no storage mode");
  const now = () => clock.now();
  const listeners = new Set<(event: MomentEvent) => void>();
  const settings = { mode: asked ?? modeText, bucket: s3?.bucket };
  const { mode, reason, owes } = effectiveMode(settings);
  if (reason === "unknown_mode") logger.warn({ reason }, "packages stay on this machine");
  let directory: PackageDirectory | undefined;
  const packagesOf = () => opened(directory);
  const uploader = owes && s3 ? uploads(ports, s3, packagesOf, mode !== "s3") : undefined;
  const later = { clock, packages: lazily(packagesOf) };
  const unattended = await unattendedNotes(outboxOf(ports), later);
  const place = await openPackageDirectory({
    ...{ path: join(home, "feedback"), clock, newId, logger, guard },
    // What is recorded while no bucket is named stays here; what was sent before can be undone.
    owed: uploader?.owed ?? { ...unattended, saving: async () => undefined },
  });
  const { packages } = place;
  directory = packages;
  const first = mode === "s3" ? "bucket" : "disk";
  const sink =
    uploader === undefined || s3 === undefined
      ? packages
      : new BucketSink({ ...{ uploader, disk: packages, first, bucket: s3.bucket }, now });
  const consent = new KeptConsent({ ...ports, disk: realDisk, unsyncedNames: new Set() }, home);
  const size = new PackageBytes(packages, () => clock.monotonic());
  const recorder = new MomentRecorder({
    ...{ ...recording, sink, clock, timers, logger },
    ...(await agreedBefore(consent, logger)),
    known: (id) => receiptOf(id, packages),
    onEvent: (event) => {
      for (const listener of listeners) listener(event);
      onEvent?.(event);
    },
  });
  const stopUploads = uploader?.onEvent((event) => {
    if (event.type === "uploaded") recorder.uploaded(event.name);
    tellRefusal(logger, event);
  });
  await uploader?.start();
  const auto = autoRecord ? new AutoRecord((input) => recorder.record(input), clock) : undefined;
  void size.count();
  const { agree, agreedElsewhere, onAgreed } = new Agreements(recorder, consent);
  const close = async () => {
    await recorder.close();
    stopUploads?.();
    await uploader?.close();
    await size.close();
    await place.close();
  };
  return {
    ...{ recorder, packages, close, [Symbol.asyncDispose]: close },
    statistics: () => ({
      ...{ ...recorder.stats, ...storageNow(settings, uploader), package_bytes: size.bytes },
      ...{ s3_bucket: owes ? (s3?.bucket ?? null) : null, outbox: uploader?.statistics() ?? null },
    }),
    ...{ agree, agreedElsewhere, onAgreed },
    happened: (event, chatId) => {
      const answer = auto === undefined ? undefined : recorder.lastAnswer(chatId);
      const chat = chatId ?? answer?.chatId ?? undefined;
      return answer === undefined ? undefined : auto?.react(event, answer.text, chat);
    },
    forget: async (selection) => {
      for (const name of await forgetWaiting(recorder, selection)) await uploader?.abandoned(name);
      const search = searchBy(uploader) ?? searchLater(unattended);
      const forgotten = await forgetPackages(packages, search, selection);
      recorder.deleted(forgotten.deleted);
      return forgotten;
    },
    onEvent: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    retract: (name, mark) => retractPackage(packages, uploader, name, mark),
    sweep: () => sweepBucket(uploader),
    upload: async () => {
      await uploader?.probe();
      await uploader?.idle();
    },
  };
}

/** Drops what is not saved yet. @returns its names: some of it may be in the bucket. */
async function forgetWaiting(
  recorder: MomentRecorder,
  selection: Selection,
): Promise<readonly string[]> {
  const dropped: string[] = [];
  await recorder.forget((facts) => {
    const isMeantToo = isOf(selection, facts);
    if (isMeantToo) dropped.push(facts.name);
    return isMeantToo;
  });
  if ("chatId" in selection) await recorder.forgetChat(selection.chatId);
  return dropped;
}

/** What earlier runs were told. A file that cannot be read agrees to nothing but words. */
async function agreedBefore(
  consent: KeptConsent,
  logger: Logger,
): Promise<{ readonly agreed?: Consent }> {
  const agreed = await consent.read();
  if (agreed !== "unreadable") return agreed === undefined ? {} : { agreed };
  logger.warn({ file: "consent.json" }, "it is not known what was agreed to: ask again");
  return { agreed: initialConsent };
}

/** Of a package that an earlier run made. Whether it was uploaded too is with its status. */
function receiptOf(id: string, packages: PackageDirectory): ReceiptState | undefined {
  const name = packages.nameOf(id);
  if (name === undefined) return undefined;
  return { id, name, accepted: true, durable: true, uploaded: packages.isRemote(id) };
}

/** The mode that holds, by what the last attempt to upload lacked. */
function storageNow(settings: StorageSettings, uploader: Uploader | undefined) {
  const lacks = uploader?.target.error?.class;
  const { mode, reason } = effectiveMode({
    ...settings,
    ...(lacks === "no_credentials" ? { credentials: "missing" } : {}),
    ...(lacks === "no_client" ? { client: "missing" } : {}),
  });
  return { storage_mode: mode, storage_reason: reason };
}

async function sweepBucket(uploader: Uploader | undefined): Promise<SweepReceipt> {
  if (uploader === undefined) return { remote: [], isBucketSearched: true };
  const { copies, isWhole } = await uploader.remote.sweep();
  return { remote: copies, isBucketSearched: isWhole };
}

/** Whether a moment that is not saved yet is meant, too. */
function isOf(selection: Selection, { name, chatId, people, holds }: MomentFacts): boolean {
  const isMeantToo = isMeant(selection, name, [{ chat_id: chatId, people }]);
  return isMeantToo && (!("message" in selection) || holds(selection.message.id));
}

/**
 * Deletes packages of a home in which nobody keeps moments now; a home without any is left as it is.
 * Copies in buckets are owed to the next run that uploads, and what waited to be sent is not sent.
 */
export async function deletePackagesOf(
  home: string,
  guard: () => void,
  selection: Selection,
): Promise<ForgetReceipt | undefined> {
  const path = join(home, "feedback");
  if (!(await isThere(realDisk, path))) return undefined;
  let directory: PackageDirectory | undefined;
  const packagesOf = () => opened(directory);
  const outbox = outboxOf({ home, newId: randomId, clock: systemClock, logger: silentLogger });
  const notes = await unattendedNotes(outbox, {
    clock: systemClock,
    packages: lazily(packagesOf),
  });
  const { packages, close } = await openPackageDirectory({ path, guard, owed: notes });
  directory = packages;
  try {
    return await forgetPackages(packages, searchLater(notes), selection);
  } finally {
    await close();
  }
}

function opened(directory: PackageDirectory | undefined): PackageDirectory {
  if (directory === undefined) throw new TypeError("the packages are not open yet");
  return directory;
}

/** The packages of a directory that is opened later: opening it asks what is owed. */
function lazily(packages: () => PackageDirectory): LocalPackages {
  return {
    manifest: (name) => packages().manifest(name),
    part: (name, path) => packages().part(name, path),
    has: (name) => packages().has(name),
    uploaded: (name, copy) => packages().uploaded(name, copy),
    release: (name) => packages().release(name),
    remote: (name, copy) => packages().remote(name, copy),
    dropRemote: (name) => packages().dropRemote(name),
    status: (name) => packages().status(name),
    nameOf: (id) => packages().nameOf(id),
  };
}

function outboxOf({ home, newId, clock, logger }: Omit<MomentsPorts, "guard" | "timers">): Outbox {
  const report = (found: NewReport) =>
    logger.warn({ repair: { at: isoTime(clock.now()), ...found } }, "the outbox was repaired");
  return new Outbox({ disk: realDisk, newId, unsyncedNames: new Set(), report }, home);
}

function uploads(
  ports: MomentsPorts,
  s3: S3TargetOptions,
  packages: () => PackageDirectory,
  keepLocal: boolean,
): Uploader {
  const { clock, timers, logger } = ports;
  const resolved = resolveS3Options(s3);
  const { bucket, region, endpoint, createBucket, encryption } = resolved;
  return new Uploader(
    { bucket, region, endpoint, createBucket, encryption, keepLocal },
    {
      ...{ outbox: outboxOf(ports), packages: lazily(packages), clock, timers, logger },
      jitter: systemJitter,
      connect: (name) => new SdkS3Port({ ...resolved, bucket: name }, { timers }),
    },
  );
}

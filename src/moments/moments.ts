// What people react to, kept as packages: joins the recorder, the directory of packages, and the loop that
// sends them.

import { join } from "node:path";
import type { Clock } from "../core/clock.ts";
import type { Logger } from "../core/logger.ts";
import {
  type Checks,
  type Defaults,
  oneOf,
  type Resolved,
  resolveOptions,
} from "../core/options.ts";
import type { Runtime } from "../core/runtime.ts";
import { freeSpace, realDisk } from "../core/storage/disk/disk.ts";
import { isThere } from "../core/storage/files/file-ports.ts";
import type { OwnHome } from "../core/storage/storage.ts";
import { KeptConsent } from "./directory/consent-file.ts";
import type { DeleteReceipt } from "./directory/delete-packages.ts";
import { type Mark, PackageDirectory } from "./directory/package-directory.ts";
import { isMeant, type Selection } from "./directory/whose.ts";
import { packageId } from "./package/package-name.ts";
import type { Consent } from "./package/record.ts";
import { type AutoEvent, AutoRecord } from "./record/auto-record.ts";
import { type ConsentInput, initialConsent } from "./record/consent.ts";
import { MomentRecorder, type MomentStats } from "./record/moment-recorder.ts";
import type { ReadFile } from "./record/options.ts";
import {
  type MomentEvent,
  type RecordingOptions,
  recordingChecks,
  recordingDefaults,
} from "./record/options.ts";
import type { Receipt, ReceiptState } from "./record/receipt.ts";
import { resolveTarget, type S3Target, type S3TargetOptions } from "./s3/options.ts";
import { isClientInstalled, S3Bucket } from "./s3/s3-bucket.ts";
import { BucketSink } from "./upload/bucket-sink.ts";
import { type CutOffReceipt, forgetInBucket, removeCutOff } from "./upload/in-bucket.ts";
import {
  type EffectiveMode,
  effectiveMode,
  type StorageMode,
  type StorageSettings,
  storageModes,
} from "./upload/mode.ts";
import { Outbox, type OutboxStatistics, refusals } from "./upload/outbox.ts";

export interface MomentsOptions extends RecordingOptions {
  /**
   * Where packages go: `local`; `local+s3`, to the disk and then to the bucket; `s3`, to the bucket,
   * and to the disk while the bucket is not available.
   * @default "local+s3", which is `local` as long as no bucket is named
   */
  readonly mode?: StorageMode | undefined;
  /** The same as somebody wrote it: an unknown one is `local`, and said. `mode` goes before it. */
  readonly modeText?: string | undefined;
  /**
   * Records by rule too: a long pat, and words that hurt, one of either in 30 s.
   * @default false
   */
  readonly autoRecord?: boolean | undefined;
  /** The bucket. Without one, nothing ever leaves the machine. */
  readonly s3?: S3TargetOptions | undefined;
  /**
   * What stands before every conversation, as the turns have it: kept with each package. A function is
   * called when somebody reacts. It must not throw.
   */
  readonly persona?: string | (() => string) | undefined;
  /**
   * Whether models are offered the skills: then the prompt that they get says so.
   * @default false
   */
  readonly withSkills?: boolean | undefined;
  /** Which of a person's words hurt, such as those of `companion.emotions`. @default none */
  readonly hurtful?: ((text: string) => readonly string[]) | undefined;
}

const defaults = {
  ...recordingDefaults,
  mode: undefined,
  modeText: undefined,
  autoRecord: false,
  s3: undefined,
  persona: undefined,
  withSkills: false,
  hurtful: () => [],
} as const satisfies Defaults<MomentsOptions>;

const checks: Checks<MomentsOptions> = {
  ...recordingChecks,
  mode: oneOf(...storageModes),
  persona: [
    "text or a function",
    (value) => typeof value === "string" || typeof value === "function",
  ],
};

export type MomentsSettings = Resolved<MomentsOptions, typeof defaults>;

/** @throws ThroughlineError `THROUGHLINE_CONFIGURATION`: an option cannot be used. */
export function momentsSettings(given: MomentsOptions): MomentsSettings {
  return resolveOptions("the options of startMoments", given, defaults, checks);
}

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
   * Forgets moments: those that wait to be saved, packages, and their copies in buckets, which are
   * deleted there as soon as the bucket answers. Of a chat, also what the buffers hold. Of a message,
   * the moments that hold it.
   *
   * `inBucket`: also what the bucket has and this home does not know of, such as packages of another
   * device: all of the bucket is looked through.
   */
  forget(
    selection: Selection,
    options?: { readonly inBucket?: boolean | undefined },
  ): Promise<ForgetReceipt>;
  /**
   * Takes a reaction back: it stays, no export has it, and its copies in buckets are marked too, those
   * that are still to come as well.
   *
   * @returns `bucket`: it is not here; the mark goes to the bucket, which has it.
   * @throws ThroughlineError `THROUGHLINE_NOT_FOUND`
   */
  retract(name: string, mark: Mark): Promise<"here" | "bucket">;
  /**
   * Removes from the bucket what uploads left there that ended before their manifest: of any device, if
   * nothing was added for a day.
   */
  removeCutOff(): Promise<CutOffReceipt>;
  /** Tries again now what is pending or dead. Resolves when nothing is due any more. */
  upload(): Promise<void>;
  /**
   * Takes nothing more, and saves what waits for at most 4 s; what is left then is lost, and reported.
   * Uploads that are pending go up in the next run.
   */
  close(): Promise<void>;
}

/**
 * Opens the moments of a home. What a dead process left is finished or removed first.
 *
 * @throws ThroughlineError `THROUGHLINE_UNAVAILABLE`: the disk refused. `THROUGHLINE_CONFIGURATION`: the
 *   bucket cannot be used.
 */
export async function openMoments(
  ports: Runtime,
  home: OwnHome,
  readFile: ReadFile,
  options: MomentsSettings,
): Promise<Moments> {
  const { clock, logger, timers } = ports;
  const {
    s3,
    mode: asked,
    modeText,
    autoRecord,
    persona,
    withSkills,
    hurtful,
    ...recording
  } = options;
  const events = listeners<[MomentEvent]>();
  const tell = (event: MomentEvent) => {
    events.tell(event);
    recording.onEvent(event);
  };
  const settings = { mode: asked ?? modeText, bucket: s3?.bucket };
  const { mode, reason, mayUpload } = effectiveMode(settings);
  if (reason === "unknown_mode") logger.warn({ reason }, "packages stay on this machine");
  const target = mayUpload && s3 ? resolveTarget(s3) : undefined;
  const opened = await openPackages(ports, home, target, mode);
  const { packages, loop, sink } = opened;
  const written = { disk: realDisk, unsyncedNames: new Set<string>(), guard: home.assertWriter };
  const consent = new KeptConsent({ ...ports, ...written }, home.path);
  const size = packageBytes(packages, clock);
  const recorder = new MomentRecorder({
    ...recording,
    sink: sink ?? packages,
    clock,
    timers,
    logger,
    agreed: await agreedBefore(consent, logger),
    known: (id) => receiptOf(id, packages),
    readFile,
    uploads: mode !== "local",
    keepPhotoMetadata: ports.keepPhotoMetadata,
    onEvent: tell,
  });
  const stopUploads = loop?.onUploaded((name) => recorder.uploaded(name));
  await loop?.start();
  const auto = autoRecord ? new AutoRecord((input) => recorder.record(input), clock) : undefined;
  size.look();
  const close = async () => {
    sink?.useDisk();
    await recorder.close();
    stopUploads?.();
    await loop?.close();
    await size.close();
    await packages.close();
  };
  return {
    recorder,
    packages,
    close,
    [Symbol.asyncDispose]: close,
    statistics: () => ({
      ...recorder.stats,
      ...storageNow(settings, opened.lacks()),
      package_bytes: size.look(),
      s3_bucket: mayUpload ? (s3?.bucket ?? null) : null,
      outbox: loop?.statistics() ?? null,
    }),
    ...agreements(recorder, consent),
    happened: (event, chatId) => {
      const answer = auto && recorder.lastAnswer(chatId);
      return answer && auto?.react(event, answer.text, chatId ?? answer.chatId ?? undefined);
    },
    forget: async (selection, { inBucket = false } = {}) => {
      await recorder.forget((facts) => isMeant(selection, facts.name, [facts]) === true);
      if ("chatId" in selection) await recorder.forgetChat(selection.chatId);
      const receipt = await packages.delete(selection);
      recorder.deleted(receipt.deleted);
      for (const name of receipt.deleted) tell(retracted(name));
      if (!inBucket || loop === undefined) return receipt;
      return { ...receipt, isBucketSearched: await forgetInBucket(packages, loop, selection) };
    },
    onEvent: events.on,
    retract: async (name, mark) => {
      await packages.retract(name, mark);
      tell(retracted(name));
      return (await packages.has(name)) ? "here" : "bucket";
    },
    removeCutOff: () => removeCutOff(packages, loop, clock.now()),
    upload: async () => {
      loop?.probe();
      await loop?.idle();
    },
  };
}

/** Passes consent to the recorder, reports it, and keeps it for later runs. */
function agreements(
  recorder: MomentRecorder,
  kept: KeptConsent,
): Pick<Moments, "agree" | "agreedElsewhere" | "onAgreed"> {
  const agreed = listeners<[consent: Consent, by: "here" | "elsewhere"]>();
  return {
    agree: async (input) => {
      recorder.agree(input);
      agreed.tell(recorder.consent, "here");
      return await kept.keep(recorder.consent);
    },
    agreedElsewhere: async (told) => {
      if (!recorder.agreedElsewhere(told)) return;
      agreed.tell(recorder.consent, "elsewhere");
      await kept.keep(recorder.consent);
    },
    onAgreed: agreed.on,
  };
}

/** Those who want to be told of something. `on` returns what ends it. */
function listeners<A extends readonly unknown[]>() {
  const all = new Set<(...args: A) => void>();
  return {
    tell: (...args: A) => {
      for (const listener of all) listener(...args);
    },
    on: (listener: (...args: A) => void) => {
      all.add(listener);
      return () => void all.delete(listener);
    },
  };
}

function retracted(name: string): MomentEvent {
  const receipt = { id: packageId(name), name, accepted: true, durable: false, uploaded: false };
  return { type: "feedback.retracted", receipt };
}

/** The packages of a home, and what sends them. */
async function openPackages(
  ports: Runtime,
  home: OwnHome,
  s3: S3Target | undefined,
  mode: StorageMode,
) {
  const { clock, newId, logger } = ports;
  const { bucket = "", region = "", endpoint = null } = s3 ?? {};
  const target = { bucket, region, endpoint };
  const packages = await PackageDirectory.open({
    path: join(home.path, "feedback"),
    freeSpace,
    clock,
    newId,
    logger,
    guard: home.assertWriter,
    // What is recorded while no bucket is named stays here.
    upload: s3 && { target, keepLocal: mode !== "s3" },
  });
  const none = () => undefined;
  if (s3 === undefined) return { packages, lacks: none, loop: undefined, sink: undefined };
  let hasClient = isClientInstalled();
  if (!hasClient) logger.error({ class: "no_client" }, refusals.no_client);
  const connect = (name: string) => new S3Bucket({ ...s3, bucket: name }, ports);
  const loop = new Outbox({ ...ports, packages, target, connect });
  const first = mode === "s3" ? "bucket" : "disk";
  const sink = new BucketSink({ ...ports, outbox: loop, packages, first });
  const lacks = () => {
    hasClient ||= isClientInstalled();
    return hasClient ? loop.targetError?.class : "no_client";
  };
  return { packages, lacks, loop, sink };
}

/** What earlier runs were told. A file that cannot be read agrees to nothing but words. */
async function agreedBefore(consent: KeptConsent, logger: Logger): Promise<Consent | undefined> {
  const agreed = await consent.read();
  if (agreed !== "unreadable") return agreed;
  logger.warn({ file: "consent.json" }, "it is not known what was agreed to: ask again");
  return initialConsent;
}

/** Of a package that an earlier run made. Whether it was uploaded too is with its status. */
function receiptOf(id: string, packages: PackageDirectory): ReceiptState | undefined {
  const known = packages.known(id);
  if (known === undefined) return undefined;
  return { id, name: known.name, accepted: true, durable: true, uploaded: !known.isHere };
}

/** The mode that holds, by what the last attempt to upload lacked. */
function storageNow(settings: StorageSettings, kind: string | undefined) {
  const lacks = kind === "no_credentials" || kind === "no_client" ? kind : undefined;
  const { mode, reason } = effectiveMode({ ...settings, lacks });
  return { storage_mode: mode, storage_reason: reason };
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
    countedAt = clock.monotonic();
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
      if (counting === undefined && clock.monotonic() - countedAt > freshMs) {
        // Where the disk refuses, the number stays what it was.
        counting = count().catch(() => undefined);
        void counting.finally(() => {
          counting = undefined;
        });
      }
      return bytes;
    },
    async close(): Promise<void> {
      isOver = true;
      await counting;
    },
  };
}

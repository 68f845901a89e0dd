// `import … from "throughline/moments"`: what people react to, kept as packages. Joins the recorder,
// the directory of packages, and the uploads that are owed.
import { join } from "node:path";
import { type Clock, isoTime } from "./clock.ts";
import type { NewId } from "./ids.ts";
import type { Logger } from "./logger.ts";
import { MomentRecorder, type MomentStats } from "./memories/moment/moment-recorder.ts";
import type { MomentEvent, MomentRecorderOptions } from "./memories/moment/options.ts";
import { realDisk } from "./storage/files/disk.ts";
import type { NewReport } from "./storage/files/file-ports.ts";
import type { DeleteReceipt, Selection } from "./targets/directory/delete-packages.ts";
import { openPackageDirectory } from "./targets/directory/open-package-directory.ts";
import type { Mark, PackageDirectory } from "./targets/directory/package-directory.ts";
import { isThere } from "./targets/directory/remove-tree.ts";
import { systemJitter } from "./targets/outbox/backoff.ts";
import { type EffectiveMode, effectiveMode } from "./targets/outbox/effective-mode.ts";
import { Outbox } from "./targets/outbox/outbox.ts";
import { Uploader } from "./targets/outbox/uploader.ts";
import type { LocalPackages, OutboxStatistics } from "./targets/outbox/uploader-ports.ts";
import { resolveS3Options, type S3TargetOptions } from "./targets/s3/options.ts";
import { SdkS3Port } from "./targets/s3/sdk-port.ts";
import type { Timers } from "./timers.ts";

export { type AutoEvent, AutoRecord } from "./memories/moment/auto-record.ts";
export type { AudioPush, FramePush, Resample, SourceTime } from "./memories/moment/buffers.ts";
export { type ConsentInput, consentWording } from "./memories/moment/consent.ts";
export type { DraftAudio, DraftFrame, MomentContent, Redact } from "./memories/moment/draft.ts";
export type { PushResult } from "./memories/moment/frame-buffer.ts";
export type { MomentInput, TranscriptMessage } from "./memories/moment/label.ts";
export type { BufferLimits } from "./memories/moment/limits.ts";
export type { NewMessage } from "./memories/moment/message-buffer.ts";
export {
  type MomentFacts,
  MomentRecorder,
  type MomentStats,
} from "./memories/moment/moment-recorder.ts";
export type { MomentEvent, MomentRecorderOptions } from "./memories/moment/options.ts";
export type { AudioChunk } from "./memories/moment/pcm.ts";
export type { FrameEncoder, RawFrame } from "./memories/moment/raw-frames.ts";
export type { Receipt, ReceiptReason, ReceiptState } from "./memories/moment/receipt.ts";
export {
  patHint,
  patHintKind,
  reactionsPrompt,
  rememberSkills,
  type Skill,
  type SkillCall,
} from "./memories/moment/skills.ts";
export type { PackageDirectory } from "./targets/directory/package-directory.ts";
export type { S3TargetOptions } from "./targets/s3/options.ts";

export interface MomentsOptions
  extends Omit<
    MomentRecorderOptions,
    "sink" | "sessionId" | "software" | "clock" | "timers" | "logger" | "known" | "random"
  > {
  /** The run's id: 8 hexadecimal digits. */
  readonly sessionId: string;
  /** What writes the packages: stored in each. */
  readonly software: { readonly name: string; readonly version: string };
  /**
   * Where packages go: `local`, or `local+s3`: to the disk and then to the bucket.
   * @default "local+s3", which is `local` as long as no bucket is named
   */
  readonly mode?: string;
  /** The bucket. Without one, nothing ever leaves the machine. */
  readonly s3?: S3TargetOptions;
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
  readonly outbox: OutboxStatistics | null;
}

/** The rolling buffers and the packages of one companion. */
export interface Moments extends AsyncDisposable {
  readonly recorder: MomentRecorder;
  readonly packages: PackageDirectory;
  statistics(): MomentsStatistics;
  /** Calls back at every event of a receipt. @returns a function that ends it. */
  onEvent(listener: (event: MomentEvent) => void): () => void;
  /** Takes a reaction back: it stays, no export has it, and its copies in buckets are marked too. */
  retract(name: string, mark: Mark): Promise<void>;
  /** Tries again now what is owed and waits, or was refused. */
  upload(): Promise<void>;
  /**
   * Takes nothing more, saves what waits for at most 4 s, and keeps the rest in one file each. What is
   * owed goes up in the next run.
   */
  close(): Promise<void>;
  /** At a forced exit: keeps what waits before it returns. */
  spillSync(): void;
}

/**
 * Opens the moments of a home. What a dead process left is finished or set aside first.
 *
 * @throws ThroughlineError `THROUGHLINE_UNAVAILABLE`: the disk refused. TypeError: an option is wrong.
 */
export async function openMoments(ports: MomentsPorts, options: MomentsOptions): Promise<Moments> {
  const { home, guard, clock, newId, logger, timers } = ports;
  const { s3, mode: asked, onEvent, ...recording } = options;
  const listeners = new Set<(event: MomentEvent) => void>();
  // A package always goes to the disk first: the bucket alone is not built.
  const mode = effectiveMode({ mode: asked === "s3" ? "local+s3" : asked, bucket: s3?.bucket });
  let directory: PackageDirectory | undefined;
  const packagesOf = () => {
    if (directory === undefined) throw new TypeError("the packages are not open yet");
    return directory;
  };
  const uploader = mode.owes && s3 ? uploads(ports, s3, packagesOf) : undefined;
  const opened = await openPackageDirectory({
    ...{ path: join(home, "feedback"), clock, newId, logger, guard },
    ...(uploader === undefined ? {} : { owed: uploader.owed }),
  });
  directory = opened.packages;
  await uploader?.start();
  const recorder = new MomentRecorder({
    ...{ ...recording, sink: directory, clock, timers, logger },
    onEvent: (event) => {
      for (const listener of listeners) listener(event);
      onEvent?.(event);
    },
  });
  const stopUploads = uploader?.onEvent((event) => {
    if (event.type === "uploaded") recorder.uploaded(event.name);
  });
  const packages = directory;
  const close = async () => {
    await recorder.close();
    stopUploads?.();
    await uploader?.close();
    await opened.close();
  };
  return {
    ...{ recorder, packages, close, [Symbol.asyncDispose]: close },
    statistics: () => ({
      ...recorder.stats,
      storage_mode: mode.mode,
      storage_reason: mode.reason,
      s3_bucket: mode.mode === "local" ? null : (s3?.bucket ?? null),
      outbox: uploader?.statistics() ?? null,
    }),
    onEvent: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    retract: async (name, mark) => {
      const { retracted, uploaded } = await packages.retract(name, mark);
      if (retracted === null) return;
      const { timestamp: at, by, reason, superseded_by } = retracted;
      for (const { prefix } of uploaded) {
        await uploader?.retract(name, prefix, { at, by, reason, superseded_by });
      }
    },
    upload: async () => {
      await uploader?.probe();
      await uploader?.idle();
    },
    spillSync: () => recorder.spillSync(),
  };
}

/** Deletes packages of a home in which nobody keeps moments now; a home without any is left as it is. */
export async function deletePackagesOf(
  home: string,
  guard: () => void,
  selection: Selection,
): Promise<DeleteReceipt | undefined> {
  const path = join(home, "feedback");
  if (!(await isThere(realDisk, path))) return undefined;
  const { packages, close } = await openPackageDirectory({ path, guard });
  try {
    return await packages.delete(selection);
  } finally {
    await close();
  }
}

function uploads(
  { home, clock, timers, newId, logger }: MomentsPorts,
  s3: S3TargetOptions,
  packages: () => PackageDirectory,
): Uploader {
  const resolved = resolveS3Options(s3);
  const local: LocalPackages = {
    manifest: (name) => packages().manifest(name),
    part: (name, path) => packages().part(name, path),
    has: (name) => packages().has(name),
    uploaded: (name, copy) => packages().uploaded(name, copy),
    release: (name) => packages().release(name),
  };
  const report = (found: NewReport) =>
    logger.warn({ repair: { at: isoTime(clock.now()), ...found } }, "the outbox was repaired");
  const outbox = new Outbox({ disk: realDisk, newId, unsyncedNames: new Set(), report }, home);
  const { bucket, region, endpoint, createBucket, encryption } = resolved;
  return new Uploader(
    { bucket, region, endpoint, createBucket, encryption, keepLocal: true },
    {
      ...{ outbox, packages: local, clock, timers, logger, jitter: systemJitter },
      connect: (name) => new SdkS3Port({ ...resolved, bucket: name }, { timers }),
    },
  );
}

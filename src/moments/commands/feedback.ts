import { join } from "node:path";
import { type Context, ownPackage, withMemories } from "../../cli/command.ts";
import { Exit, exitCodes } from "../../cli/failure.ts";
import { counted, json, table } from "../../cli/format.ts";
import { assertHomeExists } from "../../cli/home.ts";
import { showProgress, tell, write } from "../../cli/io.ts";
import { type Flags, resolveSettings, type Settings } from "../../cli/settings.ts";
import { invalid } from "../../core/errors.ts";
import { realDisk } from "../../core/storage/disk/disk.ts";
import type { Throughline } from "../../core/throughline.ts";
import { PackageReader } from "../directory/read-package.ts";
import type { Moments } from "../moments.ts";
import type { MomentsOptions } from "../options.ts";
import type { PackageStatus } from "../package/record.ts";
import type { MomentInput } from "../record/label.ts";
import { startMoments } from "../start-moments.ts";
import { lastAnswer, transcriptUpTo } from "../turns/transcript.ts";

export interface JsonFlag extends Flags {
  readonly json?: boolean;
}

/** Prints a result: as JSON, or in words. */
export function show(io: Context["io"], flags: JsonFlag, result: unknown, words: string) {
  return write(io.output, flags.json ? json(result) : `${words}\n`);
}

export const nothingYet = "No reactions have been recorded yet.";

/** `feedback list`. */
export async function list(flags: JsonFlag, context: Context): Promise<void> {
  const { io } = context;
  const found = await Array.fromAsync(packagesOf(flags, context).entries());
  const packages = found.map((each) => ({
    ...each,
    // In JSON what is not defined would not be there at all.
    status: each.status ?? null,
    upload: uploadOf(each.status),
  }));
  if (flags.json) return write(io.output, json(packages));
  if (packages.length === 0) return tell(io, nothingYet);
  const rows = packages.map(({ name, state, bytes, manifest, status, upload }) => [
    name,
    state,
    `${Math.ceil(bytes / 1024)} KiB`,
    words((status?.uploaded.length ?? 0) > 0 && "uploaded", upload !== null && wordOf(upload)),
    words(
      status === null && "status unreadable",
      status?.retracted && "retracted",
      status?.preserved && "preserved",
    ),
    manifest?.what ?? "",
  ]);
  await write(io.output, table(["PACKAGE", "STATE", "SIZE", "", "", "WHAT"], rows));
}

/** What is still to be done about it in the bucket, as `--json` has it. */
function uploadOf(status: PackageStatus | undefined) {
  const { upload } = status ?? {};
  if (upload === undefined || upload.state === "done") return null;
  return { state: upload.state, error: upload.error?.class ?? null };
}

function wordOf({ state, error }: NonNullable<ReturnType<typeof uploadOf>>): string {
  if (state !== "dead") return "pending";
  return error === null ? "dead" : `dead: ${error}`;
}

function words(...each: readonly (string | boolean | null | undefined)[]): string {
  return each.filter((word) => typeof word === "string").join(", ");
}

interface UploadFlags extends JsonFlag {
  readonly createBucket?: boolean;
}

/**
 * `feedback upload`.
 *
 * @throws Exit with 1: an upload is still pending, or dead.
 */
export function upload(flags: UploadFlags, context: Context): Promise<void> {
  const { io } = context;
  return withMoments(flags, context, async (moments) => {
    const tellLeft = () => {
      const { pending = 0 } = moments.statistics().outbox ?? {};
      showProgress(io, `${counted(pending, "upload")} pending`);
    };
    const timer = setInterval(tellLeft, 500);
    try {
      await moments.upload();
    } finally {
      clearInterval(timer);
      showProgress(io, "");
    }
    const { outbox, storage_mode, storage_reason } = moments.statistics();
    const { pending = 0, dead = 0, last_error: error = null } = outbox ?? {};
    if (outbox === null && !flags.json) {
      return tell(io, `Uploads are off: ${storage_reason ?? "local"}.`);
    }
    const why = error === null ? "" : `: ${error.class}`;
    const result = { storage_mode, storage_reason, outbox };
    await show(io, flags, result, `${pending} pending, ${dead} dead${why}`);
    if (pending + dead > 0) throw new Exit(exitCodes.failed);
  });
}

interface RecordFlags extends JsonFlag {
  readonly sentiment: MomentInput["sentiment"];
  readonly what: string;
  readonly trigger?: string;
  readonly chat: string;
  readonly message?: string;
  readonly score?: number;
  readonly correction?: string;
  readonly note?: string;
}

/**
 * `feedback record`: a reaction to an answer in a chat's log.
 *
 * @throws Exit with 1: it was not stored.
 */
export function record(flags: RecordFlags, context: Context): Promise<void> {
  const { io } = context;
  const { sentiment, what, trigger, chat, score } = flags;
  return withMoments(flags, context, async ({ recorder, packages }, { chats }) => {
    const answer = flags.message ?? (await lastAnswer(chats, chat))?.id;
    if (answer === undefined) throw invalid("this chat has no answer yet");
    const transcript = await transcriptUpTo(chats, chat, answer);
    const { provider, model } = await chats.message(chat, answer);
    const receipt = recorder.record({
      sentiment,
      what,
      provider,
      model,
      chatId: chat,
      targetMessageId: answer,
      supersedes: await packages.reactionTo(chat, answer),
      source: "cli",
      trigger,
      score,
      correction: correctionOf(flags),
      transcript,
    });
    await receipt.whenDecided();
    if (receipt.durable || flags.json) await show(io, flags, receipt, receipt.name);
    if (!receipt.durable) {
      await tell(io, `Not recorded: ${receipt.reason ?? "it could not be stored"}.`);
      throw new Exit(exitCodes.failed);
    }
  });
}

function correctionOf({ correction, note }: RecordFlags): MomentInput["correction"] {
  if (correction !== undefined && note !== undefined) {
    throw invalid("pass either --correction or --note, not both");
  }
  if (correction !== undefined) return { text: correction, kind: "replacement" };
  return note === undefined ? undefined : { text: note, kind: "note" };
}

/** Opens the moments of a home that exists, works with them and closes them. */
export function withMoments(
  flags: Flags,
  context: Context,
  work: (moments: Moments, throughline: Throughline) => Promise<void>,
): Promise<void> {
  return withMemories(flags, context, async (throughline, settings) =>
    work(await startConfiguredMoments(throughline, settings), throughline),
  );
}

/** Reads the packages of a home that exists, also while a server has it: a sealed one never changes. */
export function packagesOf(flags: Flags, { env }: Pick<Context, "env">): PackageReader {
  const { home } = resolveSettings(flags, env);
  assertHomeExists(home);
  return new PackageReader({ disk: realDisk, path: join(home, "feedback") });
}

const noRun = "00000000";

interface ConfiguredMomentsOptions extends Partial<Omit<MomentsOptions, "sessionId">> {
  /** The run of the companion that they belong to. @default zeros: no run, as in a command */
  readonly sessionId?: string | undefined;
}

/** Begins to keep moments, as the environment has it: without a bucket nothing leaves the machine. */
export function startConfiguredMoments(
  throughline: Throughline,
  { bucket, storage, region, endpoint, createBucket, autoRecord }: Settings,
  { sessionId = noRun, ...options }: ConfiguredMomentsOptions = {},
): Promise<Moments> {
  const { version } = ownPackage();
  return startMoments(throughline, {
    sessionId,
    software: { name: "throughline", version },
    mode: storage,
    autoRecord,
    s3: bucket === undefined ? undefined : { bucket, createBucket, region, endpoint },
    ...options,
  });
}

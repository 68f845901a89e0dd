import { join } from "node:path";
import type { Context } from "../../cli/command.ts";
import { Exit, exitCodes } from "../../cli/failure.ts";
import { counted, json, table } from "../../cli/format.ts";
import { assertHomeExists } from "../../cli/home.ts";
import { showProgress, tell, write } from "../../cli/io.ts";
import { withMemories } from "../../cli/memories.ts";
import { type Flags, resolveSettings } from "../../cli/settings.ts";
import type { Throughline } from "../../core/throughline.ts";
import { PackageDirectory, type ReadPackages } from "../directory/package-directory.ts";
import type { Moments } from "../moments.ts";
import type { PackageStatus } from "../package/record.ts";
import { startConfiguredMoments } from "./start-moments.ts";

export interface JsonFlag extends Flags {
  readonly json?: boolean;
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
    if (flags.json) await write(io.output, json({ storage_mode, storage_reason, outbox }));
    else if (outbox === null) await tell(io, `Uploads are off: ${storage_reason ?? "local"}.`);
    else {
      const why = outbox.last_error === null ? "" : `: ${outbox.last_error.class}`;
      await write(io.output, `${outbox.pending} pending, ${outbox.dead} dead${why}\n`);
    }
    if (outbox !== null && outbox.pending + outbox.dead > 0) throw new Exit(exitCodes.failed);
  });
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
export function packagesOf(flags: Flags, { env }: Pick<Context, "env">): ReadPackages {
  const { home } = resolveSettings(flags, env);
  assertHomeExists(home);
  return PackageDirectory.beside(join(home, "feedback"));
}

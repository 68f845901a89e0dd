import type { Moments } from "../moments.ts";
import type { Throughline } from "../throughline.ts";
import type { Context } from "./command.ts";
import { counted, json, table } from "./format.ts";
import { tell, write } from "./io.ts";
import { startMoments } from "./moments.ts";
import { withMemories } from "./sessions/with-memories.ts";
import type { Flags } from "./settings.ts";

export interface JsonFlag extends Flags {
  readonly json?: boolean;
}

const pageSize = 500;

/** `feedback list`. */
export function list(flags: JsonFlag, context: Context): Promise<void> {
  const { io } = context;
  return withMoments(flags, context, async (moments) => {
    const packages = await Array.fromAsync(entriesOf(moments));
    if (flags.json) return write(io.output, json(packages));
    if (packages.length === 0) return tell(io, "Nobody reacted to anything yet.");
    const rows = packages.map(({ name, state, bytes, manifest, status }) => [
      name,
      state,
      `${Math.ceil(bytes / 1024)} KiB`,
      (status?.uploaded.length ?? 0) > 0 ? "uploaded" : "",
      [status?.retracted ? "retracted" : "", status?.preserved ? "preserved" : ""]
        .filter((word) => word !== "")
        .join(", "),
      manifest?.what ?? "",
    ]);
    await write(io.output, table(["PACKAGE", "STATE", "SIZE", "", "", "WHAT"], rows));
  });
}

export interface UploadFlags extends JsonFlag {
  readonly createBucket?: boolean;
}

/** `feedback upload`. */
export function upload(flags: UploadFlags, context: Context): Promise<void> {
  const { io, env } = context;
  const createBucket = env.feedback.createBucket || flags.createBucket === true;
  const asked = { ...context, env: { ...env, feedback: { ...env.feedback, createBucket } } };
  return withMoments(flags, asked, async (moments) => {
    const tellLeft = () => {
      const { pending = 0 } = moments.statistics().outbox ?? {};
      io.errors.write(`${counted(pending, "upload")} to go   \r`);
    };
    const timer = setInterval(tellLeft, 500);
    try {
      await moments.upload();
    } finally {
      clearInterval(timer);
    }
    const { outbox, storage_mode, storage_reason } = moments.statistics();
    if (flags.json) return write(io.output, json({ storage_mode, storage_reason, outbox }));
    if (outbox === null) return tell(io, `Nothing is uploaded: ${storage_reason ?? "local"}.`);
    const why = outbox.last_error === null ? "" : `: ${outbox.last_error.class}`;
    await write(io.output, `${outbox.pending} waiting, ${outbox.parked} refused${why}\n`);
  });
}

/** Opens the moments of a home that is there, works with them, and lets go of them. */
export function withMoments(
  flags: Flags,
  context: Context,
  work: (moments: Moments, throughline: Throughline) => Promise<void>,
): Promise<void> {
  return withMemories(flags, context, async (throughline, { feedback }) =>
    work(await startMoments(throughline, feedback), throughline),
  );
}

/** Every package, newest first. */
export async function* entriesOf({ packages }: Moments) {
  let before: string | undefined;
  do {
    const options = { limit: pageSize, ...(before === undefined ? {} : { before }) };
    const page = await packages.list(options);
    yield* page.packages;
    before = page.next ?? undefined;
  } while (before !== undefined);
}

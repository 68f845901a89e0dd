import { resolve } from "node:path";
import { exportFeedback } from "../interchange/feedback-export/export-feedback.ts";
import type { FeedbackExportOptions } from "../interchange/feedback-export/options.ts";
import type { ExportSource } from "../interchange/feedback-export/ports.ts";
import type { Moments } from "../moments.ts";
import { realDisk } from "../storage/files/disk.ts";
import type { Context } from "./command.ts";
import { counted, json, table } from "./format.ts";
import { tell, write } from "./io.ts";
import { startMoments } from "./moments.ts";
import { withMemories } from "./sessions/with-memories.ts";
import type { Flags } from "./settings.ts";

interface JsonFlag extends Flags {
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
      status?.retracted ? "retracted" : "",
      manifest?.what ?? "",
    ]);
    await write(io.output, table(["PACKAGE", "STATE", "SIZE", "", "", "WHAT"], rows));
  });
}

export interface ExportFlags extends JsonFlag, FeedbackExportOptions {
  readonly out: string;
}

/** `feedback export`. */
export function exportPackages(flags: ExportFlags, context: Context): Promise<void> {
  const { io } = context;
  const { format, style, layout, audio, replace } = flags;
  return withMoments(flags, context, async (moments) => {
    const report = await exportFeedback(sourceOf(moments), realDisk, resolve(flags.out), {
      ...{
        format,
        onProgress: ({ phase, done, total }) => io.errors.write(`${phase} ${done}/${total}\r`),
      },
      ...(style === undefined ? {} : { style }),
      ...(layout === undefined ? {} : { layout }),
      ...(audio === undefined ? {} : { audio }),
      ...(replace === undefined ? {} : { replace }),
    });
    if (flags.json) return write(io.output, json(report));
    await write(io.output, `${counted(report.rows.total, "row")} in ${flags.out}\n`);
  });
}

/** `feedback upload`. */
export function upload(flags: JsonFlag, context: Context): Promise<void> {
  const { io } = context;
  return withMoments(flags, context, async (moments) => {
    await moments.upload();
    const { outbox, storage_mode, storage_reason } = moments.statistics();
    if (flags.json) return write(io.output, json({ storage_mode, storage_reason, outbox }));
    if (outbox === null) return tell(io, `Nothing is uploaded: ${storage_reason ?? "local"}.`);
    await write(io.output, `${outbox.pending} waiting, ${outbox.parked} refused\n`);
  });
}

function withMoments(
  flags: Flags,
  context: Context,
  work: (moments: Moments) => Promise<void>,
): Promise<void> {
  return withMemories(flags, context, async (throughline, { feedback }) =>
    work(await startMoments(throughline, feedback)),
  );
}

async function* entriesOf({ packages }: Moments) {
  let before: string | undefined;
  do {
    const options = { limit: pageSize, ...(before === undefined ? {} : { before }) };
    const page = await packages.list(options);
    yield* page.packages;
    before = page.next ?? undefined;
  } while (before !== undefined);
}

function sourceOf(moments: Moments): ExportSource {
  const { packages } = moments;
  return {
    async *list() {
      for await (const { name, state, status } of entriesOf(moments)) {
        const isSealed = state === "sealed";
        const verified = isSealed && (await packages.verify(name)).differences.length === 0;
        const retracted = status?.retracted ?? null;
        const superseded = retracted?.superseded_by != null;
        yield {
          name,
          verified,
          newer: state === "newer",
          retracted: retracted !== null,
          superseded,
        };
      }
    },
    manifest: (name) => packages.manifest(name),
    messages: (name) => packages.part(name, "messages.json"),
    part: (name, path) => packages.part(name, path),
  };
}

import type { Context } from "../command.ts";
import { Exit, exitCodes } from "../failure.ts";
import { json } from "../format.ts";
import { write } from "../io.ts";
import { type Flags, resolveSettings } from "../settings.ts";
import type { Check, Checked, Checker } from "./check.ts";

interface DoctorFlags extends Flags {
  readonly json?: boolean;
}

/** What `doctor --json` prints. */
interface Findings extends Required<Checked> {
  readonly version: string;
  readonly node: string;
  readonly home: string;
  /** The database that is used instead of the home's own logs, without its password. */
  readonly store: string | undefined;
  /** Something that was stored can no longer be read. */
  readonly damaged: boolean;
  /** Something could not be checked. */
  readonly failed: boolean;
}

/**
 * `throughline doctor`.
 *
 * @throws Exit with 1: something is damaged or could not be checked.
 */
export async function doctor(
  flags: DoctorFlags,
  context: Context,
  checkers: readonly Checker[],
): Promise<void> {
  const { io } = context;
  const findings = await examine(flags, context, checkers);
  await write(io.output, flags.json ? json(findings) : text(findings));
  if (findings.damaged || findings.failed) throw new Exit(exitCodes.failed);
}

async function examine(
  flags: DoctorFlags,
  { env, version }: Context,
  checkers: readonly Checker[],
): Promise<Findings> {
  const settings = resolveSettings(flags, env);
  const { node } = process.versions;
  const found: Checked[] = [{ checks: [{ id: "node", status: "ok", says: `Node ${node}` }] }];
  for (const check of checkers) found.push(await check(settings));
  const checks = found.flatMap((each) => each.checks);
  return {
    version,
    node,
    home: settings.home,
    store: settings.store?.says,
    damaged: checks.some(({ status }) => status === "damaged"),
    failed: checks.some(({ status }) => status === "failed"),
    checks: checks.map(({ id, status, says }) => ({ id, status, says })),
    repairs: found.flatMap((each) => each.repairs ?? []),
    quarantine: found.flatMap((each) => each.quarantine ?? []),
  };
}

function text(findings: Findings): string {
  const lines = findings.checks.map(({ status, says }: Check) => {
    const isBad = status === "damaged" || status === "failed";
    return `${(isBad ? status.toUpperCase() : status).padEnd(8)} ${says}`;
  });
  return `${[...lines, "", ...conclusion(findings)].join("\n")}\n`;
}

function conclusion({ damaged, failed, store }: Findings): readonly string[] {
  const lines: string[] = [];
  if (damaged) {
    lines.push("Something is damaged. What can be read is still served, and nothing was deleted.");
  }
  if (failed) {
    const what = store === undefined ? "home" : "store";
    lines.push(`The ${what} could not be checked, so it may or may not be damaged.`);
  }
  return lines.length > 0 ? lines : ["Nothing is damaged."];
}

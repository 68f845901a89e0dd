import type { Context } from "../command.ts";
import { Exit, exitCodes } from "../failure.ts";
import { json } from "../format.ts";
import { write } from "../io.ts";
import { type Flags, resolveSettings, type Settings } from "../settings.ts";
import type { Check, Checked, Checker } from "./check.ts";
import { confirmFindings, reportCheck, reportsOf } from "./findings.ts";

interface DoctorFlags extends Flags {
  readonly confirm?: readonly string[];
}

/** What `doctor --json` prints. */
type Findings = Awaited<ReturnType<typeof examine>>;

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
  const { io, env, version } = context;
  const settings = resolveSettings(flags, env);
  const { confirm } = flags;
  const findings = await examine(settings, { version, checkers, confirm, isOpen: false });
  await write(io.output, flags.json ? json(findings) : text(findings));
  if (findings.damaged || findings.failed) throw new Exit(exitCodes.failed);
}

/**
 * Looks at everything.
 *
 * @param given.confirm ids of findings that a person knows of.
 * @param given.isOpen this process has opened the home.
 */
export async function examine(
  settings: Settings,
  given: {
    readonly version: string;
    readonly checkers: readonly Checker[];
    readonly confirm?: readonly string[] | undefined;
    readonly isOpen: boolean;
  },
) {
  const { version, checkers, confirm = [], isOpen } = given;
  const { home } = settings;
  const { node } = process.versions;
  const found: Checked[] = [{ checks: [{ id: "node", status: "ok", says: `Node ${node}` }] }];
  for (const check of checkers) found.push(await check(settings, isOpen));
  // Last, so that what follows from the same fault is confirmed with it.
  if (confirm.length > 0) await confirmFindings(home, confirm);
  /** Every repair and every finding whose report is kept. */
  const repairs = await reportsOf(
    home,
    found.flatMap((each) => each.found ?? []),
  );
  /** Bytes that were set aside. */
  const quarantine = repairs.flatMap(({ quarantined: file, bytes }) =>
    file === undefined ? [] : [{ file, bytes }],
  );
  const checks = found.flatMap((each) => each.checks);
  checks.push(...repairs.map((each) => reportCheck(each, home)));
  return {
    version,
    node,
    home,
    /** The database that is used instead of the home's own logs, without its password. */
    store: settings.store?.says,
    /** Something that was stored can no longer be read. */
    damaged: checks.some(({ status }) => status === "damaged"),
    /** Something could not be checked. */
    failed: checks.some(({ status }) => status === "failed"),
    checks: checks.map(({ id, status, says }) => ({ id, status, says })),
    repairs,
    quarantine,
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

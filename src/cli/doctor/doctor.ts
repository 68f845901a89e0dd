import { join } from "node:path";
import { printableLine } from "../../core/chat/printable.ts";
import { realDisk } from "../../core/storage/disk/disk.ts";
import {
  type Finding,
  findingId,
  isLoss,
  type KeptReport,
  quarantineFolder,
  readReports,
} from "../../core/storage/files/quarantine.ts";
import type { Context } from "../command.ts";
import { Exit, exitCodes, Failed } from "../failure.ts";
import { json } from "../format.ts";
import { write } from "../io.ts";
import { type Flags, resolveSettings, type Settings } from "../settings.ts";

/** One thing that was checked. */
export interface Check {
  /** Stable: scripts look for it. */
  readonly id: string;
  /**
   * `note`: worth a person's attention, nothing is lost. `damaged`: something that was stored cannot
   * be read. `failed`: it could not be checked; `says` tells why.
   */
  readonly status: "ok" | "note" | "damaged" | "failed";
  /** One line for people. */
  readonly says: string;
}

/** What checking one part of a companion found. */
interface Checked {
  readonly checks: readonly Check[];
  /** What is not as it was stored. */
  readonly found?: readonly Finding[] | undefined;
}

/**
 * Checks one part of a companion. `doctor` runs one after the other.
 *
 * @param isOpen this process has opened the home.
 */
export type Checker = (settings: Settings, isOpen: boolean) => Promise<Checked>;

/** Makes a check: `check("space", "ok", "3 GB free")`. */
export function check(id: string, status: Check["status"], says: string): Check {
  return { id, status, says };
}

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
  const found: Checked[] = [{ checks: [check("node", "ok", `Node ${node}`)] }];
  for (const look of checkers) found.push(await look(settings, isOpen));
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
  if (!damaged && !failed) return ["Nothing is damaged."];
  const isDamaged =
    "Something is damaged. What can be read is still served, and nothing was deleted.";
  const what = store === undefined ? "home" : "store";
  const isUnknown = `The ${what} could not be checked, so it may or may not be damaged.`;
  return [...(damaged ? [isDamaged] : []), ...(failed ? [isUnknown] : [])];
}

/**
 * Notes that a person knows what is wrong with the logs and documents that these findings are about.
 *
 * @throws ThroughlineError `THROUGHLINE_NOT_FOUND`: there is no such finding. Nothing was noted then.
 */
async function confirmFindings(home: string, ids: readonly string[]): Promise<void> {
  const reports = await readReports(realDisk, home);
  const keys = ids.map((id) => {
    const found = [...reports.values()].find((each) => each.id === id);
    if (found !== undefined) return found.key;
    const wayOut = "`throughline doctor` lists what there is to confirm.";
    throw new Failed(`there is no finding ${id}`, { code: "THROUGHLINE_NOT_FOUND", wayOut });
  });
  for (const [name, { key, confirmed }] of reports) {
    if (confirmed || !keys.includes(key)) continue;
    // No new file: nothing comes back of a chat that was just forgotten.
    const path = join(home, quarantineFolder, name);
    await realDisk.rename(path, path.replace(/\.json$/, ".confirmed.json"));
  }
}

/** Everything that was found before, and what is found now. */
export async function reportsOf(
  home: string,
  found: readonly Finding[],
): Promise<readonly KeptReport[]> {
  const kept = [...(await readReports(realDisk, home)).values()];
  const ids = new Set(kept.map(({ id }) => id));
  const now = found.map((each) => ({ at: "", ...each, id: findingId(each), confirmed: false }));
  return [...kept, ...now.filter(({ id }) => !ids.has(id))];
}

function reportCheck(report: KeptReport, home: string): Check {
  const { key, kind, reason, confirmed } = report;
  const [id, says] = [`repair.${kind}`, `${printableLine(key)}: ${kind}: ${reason}`];
  if (!isLoss(report)) return check(id, "note", says);
  if (confirmed) return check(id, "note", `${says} (confirmed)`);
  const wayOut = `${advice(report, home)} Then: throughline doctor --confirm ${report.id}`;
  return check(id, "damaged", `${says}. ${wayOut}`);
}

function advice({ kind, file = "" }: KeptReport, home: string): string {
  if (kind !== "foreign_lines") {
    return "What can be read is used, and a backup may have the rest.";
  }
  const loss = file.startsWith("forgotten/")
    ? "The home opens without it, and an import may bring back what was forgotten."
    : "Nothing else in the home needs it, and a backup may have what stood there.";
  return `Stop the program and move the file ${printableLine(join(home, file))} out of the home. ${loss}`;
}

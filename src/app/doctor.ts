import type { Context } from "../cli/command.ts";
import type { Check } from "../cli/doctor/check.ts";
import { checkHome, checkSpace } from "../cli/doctor/home.ts";
import { checkLogs } from "../cli/doctor/logs.ts";
import { checkModel, checkProviders } from "../cli/doctor/model.ts";
import { type KeptPiece, readQuarantine } from "../cli/doctor/quarantine.ts";
import { Exit, exitCodes } from "../cli/failure.ts";
import { json } from "../cli/format.ts";
import { write } from "../cli/io.ts";
import { type Flags, resolveSettings } from "../cli/settings.ts";
import type { RepairReport } from "../core/storage/storage.ts";
import { checkMoments, checkStatuses, checkUploads } from "../moments/checks/moments.ts";
import { checkPackages } from "../moments/checks/packages.ts";
import { proveDriver } from "./doctor/driver.ts";

export interface DoctorFlags extends Flags {
  readonly driver?: boolean;
  readonly json?: boolean;
}

/** What `doctor --json` prints. */
interface Findings {
  readonly version: string;
  readonly node: string;
  readonly home: string;
  /** The database that is used instead of the home's own logs, without its password. */
  readonly store?: string;
  /** Something that was stored cannot be read any more. */
  readonly damaged: boolean;
  /** Something could not be looked at, so that nobody knows whether it is damaged. */
  readonly failed: boolean;
  readonly checks: readonly Check[];
  /** Everything that was ever found not as it was left, as far as its report is kept. */
  readonly repairs: readonly RepairReport[];
  /** What was set aside, verbatim. */
  readonly quarantine: readonly KeptPiece[];
}

/**
 * `throughline doctor`.
 *
 * @throws Exit with 1: something is damaged or could not be looked at, or a promise is not kept.
 */
export async function doctor(flags: DoctorFlags, context: Context): Promise<void> {
  const { io } = context;
  if (flags.driver) return proveDriver(io, flags.json ?? false);
  const findings = await examine(flags, context);
  await write(io.output, flags.json ? json(findings) : text(findings));
  if (findings.damaged || findings.failed) throw new Exit(exitCodes.failed);
}

async function examine(flags: DoctorFlags, { env, version }: Context): Promise<Findings> {
  const settings = resolveSettings(flags, env);
  const { home } = settings;
  const checks: Check[] = [{ id: "node", status: "ok", says: `Node ${process.versions.node}` }];
  const homeCheck = await checkHome(home);
  checks.push(homeCheck);
  if (settings.store !== undefined) {
    const { checkStore } = await import("../postgres/checks/store.ts");
    checks.push(...(await checkStore(settings.store)));
  }
  let repairs: readonly RepairReport[] = [];
  if (homeCheck.isThere) {
    checks.push(await checkSpace(home));
  }
  if (homeCheck.isThere && settings.store === undefined) {
    const logs = await checkLogs(home);
    checks.push(...logs.checks);
    repairs = logs.repairs;
  }
  checks.push(checkMoments(settings.feedback), await checkUploads(home));
  checks.push(await checkPackages(home), await checkStatuses(home));
  const quarantine = await readQuarantine(home);
  checks.push(quarantine.check, await checkModel(settings), checkProviders(settings));
  return {
    ...{ version, node: process.versions.node, home },
    ...(settings.store === undefined ? {} : { store: settings.store.says }),
    damaged: checks.some(({ status }) => status === "damaged"),
    failed: checks.some(({ status }) => status === "failed"),
    checks: checks.map(({ id, status, says }) => ({ id, status, says })),
    // Those that moved bytes away left their report there.
    repairs: [...quarantine.reports, ...repairs.filter((each) => each.quarantined === undefined)],
    quarantine: quarantine.pieces,
  };
}

function text(findings: Findings): string {
  const lines = findings.checks.map(({ status, says }) => {
    const isBad = status === "damaged" || status === "failed";
    return `${(isBad ? status.toUpperCase() : status).padEnd(8)} ${says}`;
  });
  return `${[...lines, "", ...conclusion(findings)].join("\n")}\n`;
}

function conclusion({ damaged, failed, store }: Findings): readonly string[] {
  const lines: string[] = [];
  if (damaged) {
    lines.push(
      "Something is damaged. What is readable is served, and no byte of the rest was removed.",
    );
  }
  if (failed) {
    const what = store === undefined ? "home" : "store";
    lines.push(
      `The ${what} could not be looked at: whether anything in it is damaged is not known.`,
    );
  }
  return lines.length > 0 ? lines : ["Nothing is damaged."];
}

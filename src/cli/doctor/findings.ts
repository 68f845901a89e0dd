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
import { Failed } from "../failure.ts";
import type { Check } from "./check.ts";

/**
 * Notes that a person knows what is wrong with the logs and documents that these findings are about.
 *
 * @throws ThroughlineError `THROUGHLINE_NOT_FOUND`: there is no such finding. Nothing was noted then.
 */
export async function confirmFindings(home: string, ids: readonly string[]): Promise<void> {
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

export function reportCheck(report: KeptReport, home: string): Check {
  const { key, kind, reason, confirmed } = report;
  const id = `repair.${kind}`;
  const says = `${printableLine(key)}: ${kind}: ${reason}`;
  if (!isLoss(report)) return { id, status: "note", says };
  if (confirmed) return { id, status: "note", says: `${says} (confirmed)` };
  const wayOut = `${advice(report, home)} Then: throughline doctor --confirm ${report.id}`;
  return { id, status: "damaged", says: `${says}. ${wayOut}` };
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

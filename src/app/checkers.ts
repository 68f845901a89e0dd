import type { Checker } from "../cli/doctor/check.ts";
import { homeChecks } from "../cli/doctor/home.ts";
import { logChecks } from "../cli/doctor/logs.ts";
import { modelChecks } from "../cli/doctor/model.ts";
import { quarantineChecks } from "../cli/doctor/quarantine.ts";
import { momentChecks } from "../moments/checks/moments.ts";

const storeChecks: Checker = async ({ store }) => {
  if (store === undefined) return { checks: [] };
  const { checkStore } = await import("../postgres/checks/store.ts");
  return { checks: await checkStore(store) };
};

/** What `doctor` looks at, in the order of its output. */
export const checkers: readonly Checker[] = [
  homeChecks,
  storeChecks,
  logChecks,
  momentChecks,
  quarantineChecks,
  modelChecks,
];

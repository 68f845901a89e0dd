import type { Checker } from "../cli/doctor/check.ts";
import { homeChecks } from "../cli/doctor/home.ts";
import { logChecks } from "../cli/doctor/logs.ts";
import { modelChecks } from "../cli/doctor/model.ts";
import { quarantineChecks } from "../cli/doctor/quarantine.ts";
import { features } from "./features.ts";

/** What `doctor` looks at, in the order of its output. */
export const checkers: readonly Checker[] = [
  homeChecks,
  logChecks,
  ...features.map(({ check }) => check).filter((check) => check !== undefined),
  quarantineChecks,
  modelChecks,
];

import type { Checker } from "../cli/doctor/check.ts";
import { homeChecks } from "../cli/doctor/home.ts";
import { modelChecks } from "../cli/doctor/model.ts";
import { features } from "./features.ts";

/** What is stored, in the order of the output. */
export const storedCheckers: readonly Checker[] = [
  homeChecks,
  ...features.map(({ check }) => check).filter((check) => check !== undefined),
];

/** What `doctor` looks at. */
export const checkers: readonly Checker[] = [...storedCheckers, modelChecks];

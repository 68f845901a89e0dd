import { logsAndDocuments } from "./001-logs-and-documents.ts";
import { fleet } from "./002-fleet.ts";
import { unindexed } from "./003-unindexed.ts";
import { files } from "./004-files.ts";

/** One step of the schema. All steps that are missing run in one transaction. */
export interface Migration {
  /** From 1, without gaps. */
  readonly number: number;
  readonly name: string;
  /**
   * The newest step that code must know to go on working beside this one. Its own number where it
   * breaks what older code does: that code then refuses to start.
   */
  readonly worksFrom: number;
  readonly statements: readonly string[];
}

/** Every step, in order. A step that was released is never changed. */
export const migrations: readonly Migration[] = [logsAndDocuments, fleet, unindexed, files];

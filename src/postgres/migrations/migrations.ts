import { logsAndDocuments } from "./001-logs-and-documents.ts";
import { fleet } from "./002-fleet.ts";
import { unindexed } from "./003-unindexed.ts";
import type { Migration } from "./migration.ts";

/** Every step, in order. A step that was released is never changed. */
export const migrations: readonly Migration[] = [logsAndDocuments, fleet, unindexed];

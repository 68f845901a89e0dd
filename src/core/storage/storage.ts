/// <reference lib="esnext.disposable" preserve="true" />
import { oneOf } from "../options.ts";
import type { Cluster } from "./cluster.ts";
import type { DocumentStore } from "./document-store.ts";
import type { FileStore } from "./file-store.ts";
import type { Leases } from "./leases.ts";
import type { LogProjection, LogStore } from "./log-store.ts";

/**
 * How much a resolved write has survived. `"power-cut"`: on the disk, by `fdatasync`. `"process"`:
 * in the kernel, so that it outlives this process but perhaps not the power.
 */
export type Durability = "power-cut" | "process";

export const durabilityCheck = oneOf("power-cut", "process");

/** Something that was not as it was left, and what was done. Never silent, never the content. */
export interface RepairReport {
  /** When it was found: ISO 8601. */
  readonly at: string;
  /** Which log or document, as `chats/telegram:42`. */
  readonly key: string;
  readonly kind:
    | "torn_tail"
    | "damaged_middle"
    | "unreadable_document"
    | "unreadable_log"
    | "older_copy"
    | "missing_log"
    | "unfinished_package"
    | "foreign_lines";
  /** How many bytes are concerned. */
  readonly bytes: number;
  /** The last record before the damage; 0 when nothing before it is readable. */
  readonly after_seq: number;
  /** The file in quarantine that keeps the bytes, relative to the home; absent if none was moved. */
  readonly quarantined?: string;
  /** One sentence for people. */
  readonly reason: string;
}

/** A home on disk that this process alone writes. */
export interface OwnHome {
  /** Its directory, as an absolute path. */
  readonly path: string;
  /** @throws ThroughlineError when this process is no longer its writer: `THROUGHLINE_LOCKED`, for one. */
  readonly assertWriter: () => void;
  /** Files of earlier starts in quarantine whose loss is not confirmed yet; relative to the home. */
  readonly unconfirmed?: (() => readonly string[]) | undefined;
  /** How many bytes of the journal wait to be written to the index: lists and searches have them from memory. */
  readonly indexBehind?: (() => { readonly bytes: number }) | undefined;
  /** How many syncs made appends durable, and how long all of them took, in seconds. */
  readonly syncTimes?: (() => { readonly count: number; readonly sum: number }) | undefined;
  /** The keys of logs without a file that this start made again from the journal. */
  readonly recreated?: ((collection: string) => readonly string[]) | undefined;
}

/** What a driver implements: logs, documents and files, in named collections, and who may act alone on what. */
export interface Storage extends AsyncDisposable {
  /** One that one process alone writes has `LocalLeases`. */
  readonly leases: Leases;
  /** One that one process alone writes has a `LocalCluster`. */
  readonly cluster: Cluster;
  /** Present where files lie beside what is stored, such as the packages of moments. */
  readonly ownHome?: OwnHome | undefined;

  /** The logs of one collection, such as `"chats"`. The same object for the same name. */
  logs(collection: string, projection: LogProjection): LogStore;
  /** The documents of one collection, such as `"session"`. */
  documents(collection: string): DocumentStore;
  /** The files of one collection: `"chats"` has those of each chat, under the chat's id. */
  files(collection: string): FileStore;
  /**
   * Resolves when something could be stored now: a driver tries, or asks. Its messages are shown without
   * a token: they name no path and no host.
   *
   * @throws ThroughlineError with the reason.
   */
  ready(): Promise<void>;
  /**
   * What this process has done with what it shares with others, by name, for `GET /metrics`. A name that ends in
   * `_total` counts up.
   */
  figures?(): Readonly<Record<string, number>>;
  /** Every repair since this storage was opened, oldest first; at most the newest 1,000. */
  repairs(): readonly RepairReport[];
  /** Calls back at every repair from now on. @returns a function that ends it. */
  onRepair(listener: (report: RepairReport) => void): () => void;
  /**
   * Finishes what was accepted, syncs it and lets go of everything. Calls afterwards reject with
   * `THROUGHLINE_CLOSED`. Closing twice is closing once.
   */
  close(): Promise<void>;
}

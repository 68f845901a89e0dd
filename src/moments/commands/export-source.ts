import type { Routes } from "../../cli/routes.ts";
import { isFaultOfLog, isThroughlineError } from "../../core/errors.ts";
import { idOf } from "../directory/names.ts";
import type { ExportSource } from "../export/open-package.ts";
import type { SkipReason } from "../export/selection.ts";
import type { ReadPackages } from "./feedback.ts";

/**
 * The packages of a home as an export reads them.
 *
 * @param routes those of the moments: a package with a message that was hidden or erased is not shown there,
 *   and is not exported, nor is one of a chat that cannot be read. Absent: there are no chats.
 */
export function exportSource(packages: ReadPackages, routes?: Routes): ExportSource {
  const removed = async (name: string): Promise<SkipReason | undefined> => {
    try {
      await routes?.json(`/api/feedback/${name}`);
      return undefined;
    } catch (error) {
      if (isThroughlineError(error, "THROUGHLINE_NOT_FOUND")) return "removed_message";
      if (!isFaultOfLog(error)) throw error;
      await routes?.json("/healthz"); // a server that is gone is no fault of one chat
      return "unreadable_chat";
    }
  };
  return {
    async *list() {
      // By a kill the mark may be missing, which the newer package tells too.
      const replaced = new Set<string>();
      for await (const { manifest } of packages.entries()) {
        if (manifest?.supersedes) replaced.add(manifest.supersedes);
      }
      for await (const { name, state, manifest, status } of packages.entries()) {
        if (state === "bucket") continue; // there is nothing of it to be read
        const { retracted } = status ?? {};
        if (retracted?.superseded_by || replaced.has(idOf(name)))
          yield { name, reason: "superseded" };
        else if (retracted) yield { name, reason: "retracted" };
        else if (manifest === undefined)
          yield { name, reason: state === "newer" ? "newer" : "unverified" };
        else yield { name, reason: await removed(name) };
      }
    },
    part: (name, path, allocate) => packages.part(name, path, allocate),
    async isWhole(name, compared) {
      // One whose status cannot be read may be retracted. It is told here and not by the list, so that
      // it is read, and counts against an earlier judgement, as any other that is damaged.
      if ((await packages.status(name)) === undefined) return false;
      return (await packages.verify(name, compared)).state === "whole";
    },
  };
}

import type { Chats } from "../../core/chat/chats.ts";
import { holdsRemoved } from "../../core/chat/shown-messages.ts";
import { isFaultOfLog } from "../../core/storage/database-failure.ts";
import { idOf } from "../directory/names.ts";
import type { ExportSource } from "../export/ports.ts";
import type { Moments } from "../moments.ts";
import { entriesOf } from "./feedback.ts";

/**
 * The packages of a home as an export reads them.
 *
 * @param chats where the messages in them were said: what was hidden or erased there is not exported,
 *   and nothing of a chat that cannot be read.
 */
export function exportSource({ packages }: Pick<Moments, "packages">, chats?: Chats): ExportSource {
  const isRemoved = async (name: string) => {
    if (chats === undefined) return false;
    const { manifest, messages } = await packages.read(name);
    const ids = messages.map(({ id }) => id);
    try {
      return await holdsRemoved(chats.logs, manifest.chat_id, ids);
    } catch (error) {
      if (isFaultOfLog(error)) return "unknown";
      throw error;
    }
  };
  return {
    async *list() {
      // By a kill the mark may be missing, which the newer package tells too.
      const replaced = new Set<string>();
      for await (const { manifest } of entriesOf({ packages })) {
        if (manifest?.supersedes) replaced.add(manifest.supersedes);
      }
      for await (const { name, state, manifest, status } of entriesOf({ packages })) {
        if (state === "bucket") continue; // there is nothing of it to be read
        const retracted = status?.retracted ?? null;
        const superseded = retracted?.superseded_by != null || replaced.has(idOf(name));
        yield {
          name,
          sealed: manifest !== undefined,
          newer: state === "newer",
          retracted: retracted !== null && !superseded,
          superseded,
          removed: manifest !== undefined && (await isRemoved(name)),
        };
      }
    },
    manifest: (name) => packages.manifest(name),
    part: (name, path, allocate) => packages.part(name, path, allocate),
    async isWhole(name, compared) {
      // One whose status cannot be read may be retracted. It is told here and not by the list, so that
      // it is read, and counts against an earlier judgement, as any other that is damaged.
      if ((await packages.status(name)) === undefined) return false;
      return (await packages.verify(name, compared)).state === "whole";
    },
  };
}

// The list of packages as it comes over HTTP: page by page, and filtered.
import type { z } from "zod";
import type { Router } from "../../server/router.ts";
import type { PackageEntry } from "../directory/list-packages.ts";
import type { Moments } from "../moments.ts";
import type { packageFilter } from "./schemas.ts";
import { listedManifest } from "./shown-package.ts";

type Query = z.infer<ReturnType<typeof packageFilter>>;
type Filter = Omit<Query, "limit" | "cursor">;

/** How many packages one request opens at most to find those that match. */
const mostOpened = 500;
const opensAtOnce = 50;

/** A page of packages, newest first, without those that do not match. */
export async function packagePage(router: Router, { packages }: Moments, query: Query) {
  const { limit = 50, cursor, ...filter } = query;
  const isFiltered = Object.values(filter).some((value) => value !== undefined);
  const shown: object[] = [];
  let before = cursor;
  for (let opened = 0; opened < mostOpened; ) {
    const page = await packages.list({ limit: isFiltered ? opensAtOnce : limit, before });
    opened += page.packages.length;
    for (const entry of page.packages) {
      if (isFiltered && !isMatch(entry, filter)) continue;
      const one = await shownEntry(router, entry);
      if (isFiltered && one.feedback === null) continue;
      shown.push(one);
      if (shown.length < limit) continue;
      const isLast = page.next === null && entry === page.packages.at(-1);
      return { packages: shown, cursor: isLast ? null : entry.name };
    }
    if (page.next === null) return { packages: shown, cursor: null };
    before = page.next;
  }
  return { packages: shown, cursor: before };
}

async function shownEntry(router: Router, { manifest, status, ...entry }: PackageEntry) {
  const listed = manifest && (await listedManifest(router, manifest));
  const isShown = typeof listed !== "string";
  const detail = isShown ? entry.detail : listed;
  return { ...entry, detail, feedback: (isShown && listed) || null, status: status ?? null };
}

/** By what the record of the package says; one without a record matches nothing. */
function isMatch({ manifest, status }: PackageEntry, filter: Filter): boolean {
  if (manifest === undefined) return false;
  const { sentiment, media, preserved, chat_id: chatId, query } = filter;
  const { num_frames: frames, audio_samples: samples } = manifest;
  return (
    isSame(sentiment, manifest.sentiment) &&
    isSame(media, String(frames > 0 || samples > 0)) &&
    isSame(preserved, String((status?.preserved ?? null) !== null)) &&
    isSame(chatId, manifest.chat_id) &&
    wordsOf(manifest).includes(query?.toLowerCase() ?? "")
  );
}

function isSame(wanted: string | undefined, value: string | null): boolean {
  return wanted === undefined || wanted === value;
}

function wordsOf({ what, trigger, correction }: NonNullable<PackageEntry["manifest"]>): string {
  return [what, trigger, correction?.text ?? ""].join("\n").toLowerCase();
}

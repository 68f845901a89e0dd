import { type PackageMessage, wavHeader } from "../package/package-format.ts";
import { rowText } from "./json-lines.ts";
import type { JudgedTurn } from "./judged-turn.ts";
import type { OpenPackage } from "./open-package.ts";
import type { ResolvedExportOptions } from "./options.ts";
import { webDatasetRow } from "./rows.ts";
import { type TarMember, tarOf } from "./tar-shards.ts";

/**
 * A package as members of a shard that lie side by side and share a key. Which members there are
 * never depends on the package, because readers refuse a shard whose groups differ: where there is
 * no picture the inner tar is empty, where there is no sound the WAV has 0 samples. A member for each
 * picture, as `per-frame` has it, is for the webdataset library alone.
 */
export async function webDatasetMembers(
  from: OpenPackage,
  { turn, messages }: { readonly turn: JudgedTurn; readonly messages: readonly PackageMessage[] },
  options: ResolvedExportOptions,
): Promise<{ readonly members: readonly TarMember[]; readonly frames: number }> {
  const { manifest } = from;
  const key = manifest.name; // a date, a word and hex digits: no dot, which would end the key
  const pictures = manifest.consent.frames ? await allPictures(from) : [];
  const hasSound = manifest.audio !== null && manifest.consent.audio && options.audio;
  const sound = hasSound ? await from.part("audio.wav") : wavHeader(0);
  const row = webDatasetRow(manifest, turn, {
    messages,
    frames: pictures.length,
    samples: hasSound ? manifest.audio.samples : 0,
  });
  const members: TarMember[] = [{ name: `${key}.json`, bytes: Buffer.from(rowText(row)) }];
  if (options.audio) members.push({ name: `${key}.wav`, bytes: sound });
  if (options.layout === "per-frame") {
    for (const { name, bytes } of pictures) members.push({ name: `${key}.${name}`, bytes });
  } else {
    members.push({ name: `${key}.frames.tar`, bytes: await tarOf(pictures) });
  }
  return { members, frames: pictures.length };
}

async function allPictures(from: OpenPackage): Promise<readonly TarMember[]> {
  const whole = await from.pictures(from.manifest.frames.map(({ file }) => file));
  return whole.map(({ file, bytes }) => ({ name: file.slice("frames/".length), bytes }));
}

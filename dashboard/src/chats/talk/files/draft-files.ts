// Files that are attached and not sent yet. They are in the memory of the page alone: a reload leaves their names.
import { newKey } from "../../../api/client.ts";
import { counted } from "../../../ui/in-words.ts";
import type { Model } from "../../models/model-names.ts";

export interface DraftFile {
  readonly key: string;
  readonly name: string;
  readonly type: string;
  /** In bytes. */
  readonly size: number;
  /** `undefined` after a reload. */
  readonly file?: File | undefined;
}

/** What the server takes with one message. */
const most = { files: 10, bytes: 20 * 1024 * 1024 } as const;

/** Adds files. One that is attached already is passed over. @returns all, and what could not be added. */
export function withAdded(
  files: readonly DraftFile[],
  added: readonly File[],
): { readonly files: readonly DraftFile[]; readonly problem: string } {
  const all = [...files];
  const tooMany: string[] = [];
  const tooLarge: string[] = [];
  for (const file of added) {
    const { name, type, size } = file;
    // The same one again, or one that a reload took.
    const at = all.findIndex((each) => each.name === name && each.size === size);
    const entry = { key: newKey(), name, type, size, file };
    if (at >= 0) {
      if (all[at]?.file === undefined) all[at] = entry;
      continue;
    }
    const total = all.reduce((sum, each) => sum + each.size, size);
    if (all.length === most.files) tooMany.push(name);
    else if (total > most.bytes) tooLarge.push(name);
    else all.push(entry);
  }
  const why = [
    tooMany.length === 0
      ? ""
      : `A message takes at most ${counted(most.files, "file")}: ${tooMany.join(", ")} was left out.`,
    tooLarge.length === 0
      ? ""
      : `The files of a message have at most 20 MiB in all: ${tooLarge.join(", ")} was left out.`,
  ];
  return { files: all, problem: why.filter((text) => text !== "").join(" ") };
}

/** The body of the request that sends a message, to a model if one is named. */
export function bodyOf(
  { content, files = [] }: { content: string; files?: readonly DraftFile[] | undefined },
  model?: Model,
): object {
  const fields = { content, ...model };
  if (files.length === 0) return fields;
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.append(name, value);
  for (const { file, name } of files) if (file !== undefined) form.append("file", file, name);
  return form;
}

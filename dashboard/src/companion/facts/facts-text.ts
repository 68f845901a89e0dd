// The facts as a text, a fact a line. Lines that are blank stay where a person put them.

/** One line of what a person typed. */
export function asFact(typed: string): string {
  return typed.replaceAll(/\s+/g, " ").trim();
}

/** One change of one fact. */
export type FactChange =
  | { readonly kind: "add"; readonly fact: string; readonly at?: number | undefined }
  | { readonly kind: "edit"; readonly index: number; readonly old: string; readonly fact: string }
  | { readonly kind: "remove"; readonly index: number; readonly old: string };

/**
 * A text with a change. A fact that others moved is found by its words.
 *
 * @returns `undefined`: the fact that was to be changed is not there any more.
 */
export function changed(text: string, change: FactChange): string | undefined {
  const lines = text.trim() === "" ? [] : text.trimEnd().split(/\r\n?|\n/);
  const places = lines.flatMap((line, place) => (line.trim() === "" ? [] : [place]));
  if (change.kind === "add") {
    const place = change.at === undefined ? undefined : places[change.at];
    return lines.toSpliced(place ?? lines.length, 0, change.fact).join("\n");
  }
  const isIt = (place: number | undefined) =>
    place !== undefined && lines[place]?.trim() === change.old;
  const place = isIt(places[change.index]) ? places[change.index] : places.find(isIt);
  if (place === undefined) return undefined;
  if (change.kind === "remove") return lines.toSpliced(place, 1).join("\n");
  return lines.with(place, change.fact).join("\n");
}

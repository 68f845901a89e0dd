/**
 * The words of an utterance, one by one: runs of letters, digits, `'` and `-`, in lower case, without
 * a `'` or `-` at either end. Typographic apostrophes and full-width letters are their plain forms.
 */
export function* words(text: string): Generator<string, void, undefined> {
  for (const [run] of text.matchAll(/[\p{L}\p{M}\p{N}'\u2019-]+/gu)) {
    const plain = run.normalize("NFKC").replaceAll("\u2019", "'").toLowerCase();
    let start = 0;
    let end = plain.length;
    while (start < end && isEdge(plain[start])) start++;
    while (end > start && isEdge(plain[end - 1])) end--;
    if (start < end) yield plain.slice(start, end);
  }
}

function isEdge(letter: string | undefined): boolean {
  return letter === "'" || letter === "-";
}

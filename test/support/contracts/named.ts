/** Finds the clauses whose sentences begin so, one each. */
export function named<Clause extends { readonly says: string }>(
  clauses: readonly Clause[],
  beginnings: readonly string[],
): readonly Clause[] {
  return beginnings.map((beginning) => {
    const [found, other] = clauses.filter(({ says }) => says.startsWith(beginning));
    if (found === undefined || other !== undefined) throw new Error(`which clause: ${beginning}`);
    return found;
  });
}

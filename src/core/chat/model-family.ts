/** Where a name stops being the family: a tag, or a date or `latest` that ends a part of the name. */
const release = /[:@]|-(?:\d{4}|\d{6}|\d{8}|latest)(?=$|[-:@])/;

/**
 * The model without its release: the id up to the first `:` or `@`, or the first part that is a date
 * (`-0613`, `-250115`, `-20250514`, `-2024-08-06`) or `-latest`; in lower case. Artefacts of a family
 * pass between its releases. A name that follows no such pattern is a family of its own: artefacts
 * are then rather left out than sent to a model that refuses them.
 */
export function modelFamily(model: string): string {
  const end = model.search(release);
  return (end < 0 ? model : model.slice(0, end)).toLowerCase();
}

/** Whether two models may exchange reasoning items, signatures and call ids. */
export function sameMaker(
  a: { readonly provider?: unknown; readonly model?: unknown },
  b: { readonly provider: string; readonly model: string },
): boolean {
  return (
    a.provider === b.provider &&
    typeof a.model === "string" &&
    modelFamily(a.model) === modelFamily(b.model)
  );
}

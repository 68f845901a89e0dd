/** Who answers: the provider and its model, once where both have one name. */
export function modelName(of: { readonly provider?: string; readonly model?: string }): string {
  const parts = [of.provider ?? "", of.model ?? ""].filter((part) => part !== "");
  return [...new Set(parts)].join(" · ");
}

import type { Message } from "../../api/openapi-types.ts";

/** Who answers: the provider and its model, once where both have one name. */
export function modelName(of: Pick<Message, "provider" | "model">): string {
  const parts = [of.provider ?? "", of.model ?? ""].filter((part) => part !== "");
  return [...new Set(parts)].join(" · ");
}

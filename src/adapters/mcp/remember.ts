// Stands apart from the tools: their types need packages that a user of `throughline/mcp` may not have.

/** Records what a model says it did that earned a reaction. @returns what the model is told: no more than is true. */
export type Remember = (
  skill: "remember_positively" | "remember_negatively",
  said: { readonly what: string; readonly trigger?: string | undefined },
) => Promise<string>;

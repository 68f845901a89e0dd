import type { ModelInput } from "./message.ts";

/** Joins what follows each other from one side, where nothing but text would be joined. */
export function merged(messages: readonly ModelInput[]): readonly ModelInput[] {
  const out: ModelInput[] = [];
  for (const message of messages) {
    const before = out.at(-1);
    const joined = before === undefined ? undefined : join(before, message);
    if (joined === undefined) out.push(message);
    else out[out.length - 1] = joined;
  }
  return out;
}

function join(a: ModelInput, b: ModelInput): ModelInput | undefined {
  if (a.role === "user" && b.role === "user") {
    return { role: "user", content: `${a.content}\n\n${b.content}` };
  }
  if (a.role !== "assistant" || b.role !== "assistant") return undefined;
  // Calls are followed by their results, so `a` has none. Artefacts speak of one message alone.
  if (a.providerData !== undefined || b.providerData !== undefined) return undefined;
  return { ...b, content: [a.content, b.content].filter((text) => text !== "").join("\n\n") };
}

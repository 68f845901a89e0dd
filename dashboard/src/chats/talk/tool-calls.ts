import type { Message } from "../../api/openapi-types.ts";

/** A tool that a model called, and what the tool answered. */
export interface Call {
  readonly id: string | undefined;
  readonly name: string;
  /** As the model wrote them. */
  readonly args: string;
  /** `undefined`: there is none, or not yet. */
  result: Message | undefined;
}

/** One value for all messages without calls, so that their rows stay as they are. */
const none: readonly Call[] = [];

/** The calls of a message. Imported ones may have the form of any provider. */
export function callsOf({ tool_calls: calls = [] }: Message): readonly Call[] {
  if (calls.length === 0) return none;
  return calls.map((each) => {
    const { id, function: named, ...own } = fieldsOf(each);
    const { name, arguments: args = own["input"] } = { ...own, ...fieldsOf(named) };
    return {
      id: typeof id === "string" ? id : undefined,
      name: typeof name === "string" ? name : "a tool",
      args: typeof args === "string" ? args : (JSON.stringify(args) ?? ""),
      result: undefined,
    };
  });
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

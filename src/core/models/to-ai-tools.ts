import { dynamicTool, jsonSchema, type ToolSet } from "ai";
import { inSpan, type Span } from "../telemetry.ts";
import { type OfferedTools, toolFailed } from "./responder.ts";

/** Tools in the AI SDK's form. What is wrong with the arguments is for the tool itself to say. */
export function toAiTools({ tools }: OfferedTools, span: Span): ToolSet {
  const made = tools.map(({ name, description, parameters, run }) => {
    const execute = async (input: unknown, { toolCallId: id }: { readonly toolCallId: string }) => {
      const written = JSON.stringify(input) ?? "";
      try {
        return await inSpan(span, { type: "tool", tool: name, callId: id }, () =>
          run(input, { id, type: "function", function: { name, arguments: written } }),
        );
      } catch (cause) {
        // The message goes to the model and into the log.
        throw new Error(toolFailed, { cause });
      }
    };
    return [name, dynamicTool({ description, inputSchema: jsonSchema(parameters), execute })];
  });
  return Object.fromEntries(made);
}

import { APICallError, dynamicTool, jsonSchema, type ToolSet } from "ai";
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

/** A request was refused because it offered tools, which not every model can take. */
export class ToolsRefused extends Error {
  override readonly name = "ToolsRefused";
}

/** Of services that cannot do it: wrong request, no such route, not allowed, not understood, not made. */
const refusals: readonly (number | undefined)[] = [400, 404, 405, 422, 501];

/** Whether an error can mean that the model takes no tools. There is no code for it: only words. */
export function refusesTools(error: unknown): boolean {
  if (!APICallError.isInstance(error) || !refusals.includes(error.statusCode)) return false;
  return /\btools?\b|function.?call/i.test(`${error.message} ${error.responseBody ?? ""}`);
}
